"""A figure that notebooks display."""

import io

from pgsr.machine.extras import extra

with extra("plots"):
    from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that a notebook displays as a picture, whatever backend is loaded, and that no global state keeps."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=100, facecolor="white")
        return file.getvalue()
