"""What all figures and pages share: colours and axes, maps of regions as trees, HTML, pictures in notebooks."""
