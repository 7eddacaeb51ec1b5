//go:build !js

package registry

import (
	"latlab.example/aerospike"
	"latlab.example/coldfetch"
	"latlab.example/rawblock"
	"latlab.example/spatial"
)

// Chapters are the cases' READMEs, in Markdown, by the case's name.
func Chapters() map[string]string {
	return map[string]string{
		"aerospike": aerospike.Chapter,
		"coldfetch": coldfetch.Chapter,
		"rawblock":  rawblock.Chapter,
		"spatial":   spatial.Chapter,
	}
}
