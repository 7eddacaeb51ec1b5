//go:build !linux

package main

import (
	"context"
	"time"

	"latlab.example/rawblock"
)

func ours(context.Context, string, int64, point, time.Duration) (float64, error) {
	return 0, rawblock.ErrPlatform
}
