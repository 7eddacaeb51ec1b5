package wire

import (
	"bytes"
	"strings"
)

// Info is a command's answer.
type Info struct{ Name, Value string }

// AppendInfoRequest appends the body that asks for these commands.
func AppendInfoRequest(dst []byte, names ...string) []byte {
	for _, n := range names {
		dst = append(append(dst, n...), '\n')
	}
	return dst
}

// ParseInfoRequest reads the commands of a request. Each must end with a
// newline; a server doesn't answer one that doesn't.
func ParseInfoRequest(body []byte) ([]string, error) {
	if len(body) == 0 {
		return nil, nil
	}
	text, ended := strings.CutSuffix(string(body), "\n")
	if !ended {
		return nil, &FormatError{len(body), "a newline is needed after the last command"}
	}
	return strings.Split(text, "\n"), nil
}

// AppendInfoReply appends one command's line to a reply's body.
func AppendInfoReply(dst []byte, i Info) []byte {
	dst = append(append(dst, i.Name...), '\t')
	return append(append(dst, i.Value...), '\n')
}

// ParseInfoReply reads the lines of a reply, in their order. A line without a
// tab is an answer without a value, as servers send errors.
func ParseInfoReply(body []byte) ([]Info, error) {
	var all []Info
	for off := 0; off < len(body); {
		n := bytes.IndexByte(body[off:], '\n')
		if n < 0 {
			return nil, &FormatError{len(body), "a newline is needed after the last line"}
		}
		name, value, _ := strings.Cut(string(body[off:off+n]), "\t")
		if strings.Contains(value, "\t") {
			return nil, &FormatError{off, "two tabs in one line"}
		}
		all = append(all, Info{name, value})
		off += n + 1
	}
	return all, nil
}
