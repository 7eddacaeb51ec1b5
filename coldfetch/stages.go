package coldfetch

import "latlab.example/common/metrics"

// The stages of a request. They don't overlap.
const (
	Queue    metrics.Stage = iota // from the request's arrival until its handler runs, and waiting for a bound on builds
	Locate                        // making the document's file local: a look at the disk, or a pull from the store
	BuildIt                       // parsing, indexing and rendering, or waiting for another request that does
	JSON                          // writing the answer's text, compression included
	Write                         // handing the answer to the connection
	Manifest                      // the listing's first half, waiting for its turn included
	Corpus                        // its second half, likewise
)

// Stages are the study's names.
var Stages = metrics.NewStageSet("coldfetch", "queue", "locate", "build", "json", "write", "manifest", "corpus")
