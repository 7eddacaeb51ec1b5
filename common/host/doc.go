// Package host says what a result was measured on, and whether it was quiet
// there.
//
//   - [Read] makes the [Fingerprint] that every wall-clock result carries, and
//     [PathInfo] tells what lies under a folder or a block device.
//   - [StartNoise] watches what others do to a run: foreign CPU use, time
//     stolen by the hypervisor, pressure.
//   - [ReadDisk] reads the kernel's counters of a block device: queue depth,
//     writes, merges.
//   - [Pin] keeps this process on chosen CPUs.
//
// Most of it needs Linux. Elsewhere, and where the kernel or a container hides
// a file, a fingerprint says "unknown" or "absent", and functions that can't
// work return an error that wraps [errors.ErrUnsupported].
package host
