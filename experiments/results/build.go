package results

import (
	"runtime"
	"runtime/debug"
)

// Build says which program made a result.
type Build struct {
	Version  string `json:"version"`          // of the main module, "(devel)" if it has none
	Commit   string `json:"commit,omitempty"` // of the version control; empty if the build has none
	Modified bool   `json:"modified"`         // there were changes that weren't committed
	Go       string `json:"go"`
}

// ReadBuild reads it from the running program.
func ReadBuild() Build {
	b := Build{Version: "(devel)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
