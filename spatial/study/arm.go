package study

import (
	"strconv"
	"time"

	"latlab.example/common/lab"
)

// Experiments have levels of their own for some factors, so these read what an
// arm says of a factor, whatever its levels are.

func label(a lab.Arm, name, otherwise string) string {
	if l, ok := a.Level(name); ok {
		return l
	}
	return otherwise
}

func number(a lab.Arm, name string, otherwise int) int {
	l, ok := a.Level(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(l)
	if err != nil {
		panic("study: factor " + name + " isn't of numbers: " + err.Error())
	}
	return n
}

func duration(a lab.Arm, name string, otherwise time.Duration) time.Duration {
	l, ok := a.Level(name)
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(l)
	if err != nil {
		panic("study: factor " + name + " isn't of times: " + err.Error())
	}
	return d
}
