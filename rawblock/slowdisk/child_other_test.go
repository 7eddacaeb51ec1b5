//go:build !linux

package slowdisk

const childVariable = "LATLAB_SLOWDISK_CHILD"

func child(string) {}
