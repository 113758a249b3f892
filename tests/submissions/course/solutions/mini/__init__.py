"""Three small exercises and two questions, for the submissions beside this course."""

PACKAGES = ("numpy",)
