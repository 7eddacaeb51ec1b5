//go:build !linux

package host

// Pin needs Linux: here the error wraps errors.ErrUnsupported.
func Pin(cpus ...int) (restore func() error, err error) { return nil, unsupported("Pin") }
