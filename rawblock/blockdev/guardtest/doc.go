// Package guardtest puts a scratch device into each state that package blockdev
// must refuse, and checks that it is refused. One table serves loop devices in
// tests and an emulated NVMe drive in a virtual machine.
//
// It writes to the device that it is given without asking: give it only one that
// was made for it. It needs root.
package guardtest
