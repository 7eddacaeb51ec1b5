// Package blockdev opens a real block device for writing, and refuses every one
// that may hold something.
//
// Writing to the wrong device destroys it, so there is no default device, and
// nothing is asked at a terminal: a person reads what Inspect prints, and passes
// the phrase that it names to Open. A run in CI needs the phrase too.
//
// A device is judged by its major:minor number after links are resolved, never
// by its name. Each guard has an error of its own:
//
//	ErrNoDevice        none was named
//	ErrNotBlock        a file, a folder or a character device (as /dev/ng0n1)
//	ErrPartition       a partition: only whole disks are taken
//	ErrStacked         lies on other devices (device mapper, md, a loop on a device)
//	ErrReadOnly        the kernel has it read-only
//	ErrRoot            carries the root file system, itself or below it
//	ErrMounted         is mounted
//	ErrSwap            is swapped to
//	ErrHeld            is held by another device (device mapper, md, a loop)
//	ErrPartitionInUse  one of its partitions is in one of these uses
//	ErrBusy            someone holds it exclusively: the kernel's own answer
//	ErrSignature       has a known signature, of a file system or a partition table
//	ErrNotEmpty        is not all zero in its first or last MiB, and not ours
//	ErrConsent         the phrase isn't exactly the device's
//	ErrChanged         is not the device any more that was inspected
//	ErrUnknown         what a guard needs can't be read
//
// Open runs them, opens with O_EXCL, compares the identity, and runs them again
// on what it has opened: with O_EXCL held nobody can mount, swap to or stack on
// the device until Close. Of the first and last MiB it trusts only what it reads
// through the descriptor that it writes to.
//
// Writes stay inside the range that the caller stated: rawblock.File.Place, which
// every transfer of every engine passes, refuses others with rawblock.ErrRange.
//
// # What no guard can see
//
// A device that another machine uses, as on a storage network. Data in the middle
// of a device whose first and last MiB are zero and that has no known signature.
// Mounts of another mount namespace are not listed here, but O_EXCL meets them.
package blockdev
