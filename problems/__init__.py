"""Named problems and systems, one family a file, each with its published answer and source."""

from trajopt.catalogue import Entry

CATALOGUE = {
    "brachistochrone": Entry("problems.brachistochrone:build", "classical", "the fastest slide between two points"),
}
