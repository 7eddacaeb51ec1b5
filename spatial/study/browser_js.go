package study

import (
	"context"

	"latlab.example/common/lab"
)

// A browser has no sockets, and shouldn't have to fetch a client library: of these
// rigs there is but the name.

func nowhere(context.Context) error {
	return &lab.Unavailable{Need: "sockets", Why: "a browser has none", Do: "run latlab on a host"}
}

func onBubble(...lab.Factor) lab.Rig { return lab.Bubble("bubble", nil, nil).Requires(nowhere) }

func onFake(...lab.Factor) lab.Rig { return lab.Emulated("fake", nil, nil, nil).Requires(nowhere) }

func onReal(...lab.Factor) lab.Rig { return lab.Real("postgis", nowhere, nil) }
