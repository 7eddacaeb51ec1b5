//go:build !js

package study

import "latlab.example/common/lab"

func onBubble(own ...lab.Factor) lab.Rig {
	return lab.Bubble("bubble", bubbleAssumptions, openBubble).With(append(own, cores, roundTrip)...)
}

func onFake(own ...lab.Factor) lab.Rig {
	return lab.Emulated("fake", emulatedAssumptions, calibrate, openEmulated).With(append(own, cores)...)
}

func onReal(own ...lab.Factor) lab.Rig {
	return lab.Real("postgis", probe, openReal).With(own...)
}
