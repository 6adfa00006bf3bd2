"""What is stated of a release, and public: its terms and words, and what follows from them alone."""
