package blockdev

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"latlab.example/rawblock"
)

// A signature is bytes at fixed places that tell what a device holds.
type signature struct {
	name  string
	magic []byte
	// at are the offsets in bytes, for a device of that size. Those that lie
	// outside of it are skipped.
	at func(size int64) []int64
	// also, unless nil, must hold for the block of 64 bytes around a short magic,
	// so that chance bytes of our own payloads seldom match.
	also func(read func(off int64, n int) []byte) bool
}

func at(offs ...int64) func(int64) []int64 { return func(int64) []int64 { return offs } }

// before are offsets counted back from the end.
func before(offs ...int64) func(int64) []int64 {
	return func(size int64) []int64 {
		all := make([]int64, len(offs))
		for i, off := range offs {
			all[i] = size - off
		}
		return all
	}
}

// both joins places.
func both(fs ...func(int64) []int64) func(int64) []int64 {
	return func(size int64) (all []int64) {
		for _, f := range fs {
			all = append(all, f(size)...)
		}
		return all
	}
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

// pages are the page sizes that Linux runs with: swap's magic ends the first page.
var pages = []int64{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}

func pageEnds(n int64) func(int64) []int64 {
	var offs []int64
	for _, p := range pages {
		offs = append(offs, p-n)
	}
	return at(offs...)
}

// Places of ZFS: four labels of 256 KiB, two at each end of the size rounded down
// to them, each with uberblocks in its second half, at multiples of 1 KiB.
func zfsUberblocks(size int64) []int64 {
	const label = 256 << 10
	end := size / label * label
	var offs []int64
	for _, start := range []int64{0, label, end - 2*label, end - label} {
		for off := int64(label / 2); off < label; off += 1 << 10 {
			offs = append(offs, start+off)
		}
	}
	return offs
}

// Places of md with metadata 0.90: 64 KiB before the end, rounded down to them; 1.0:
// 8 KiB before the end, rounded down to 4 KiB; 1.1 at the start; 1.2 at 4 KiB.
func mdPlaces(size int64) []int64 {
	return []int64{0, 4 << 10, (size - 8<<10) &^ (4<<10 - 1), size&^(64<<10-1) - 64<<10}
}

// signatures is the table of what is refused by name. The sources are the
// kernel's headers (fs/*, drivers/md, include/uapi/linux) as named beside each
// row, the on-disk formats of LVM2, cryptsetup and OpenZFS, the UEFI
// specification, ECMA-119, and libblkid's probes for the rest. Anything else in
// the first or last MiB is refused as not empty.
var signatures = []signature{
	{name: "GPT", magic: []byte("EFI PART"), at: both(at(512, 4096), before(512, 4096))}, // UEFI 5.3.2: second and last logical block
	{name: "MBR or boot sector", magic: []byte{0x55, 0xaa}, at: at(510)},                 // UEFI 5.2.1
	{name: "ext2, ext3 or ext4", magic: []byte{0x53, 0xef}, at: at(1024 + 56), also: func(read func(int64, int) []byte) bool {
		// fs/ext4/ext4.h: s_log_block_size is at most 6 and s_rev_level 0 or 1.
		return binary.LittleEndian.Uint32(read(1024+24, 4)) <= 6 && binary.LittleEndian.Uint32(read(1024+76, 4)) <= 1
	}},
	{name: "xfs", magic: []byte("XFSB"), at: at(0)},                                          // fs/xfs/libxfs/xfs_format.h
	{name: "btrfs", magic: []byte("_BHRfS_M"), at: at(64<<10+64, 64<<20+64)},                 // include/uapi/linux/btrfs_tree.h, and its first mirror
	{name: "bcachefs", magic: []byte("\xc6\x85\x73\xf6\x66\xce\x90\xa9"), at: at(4096 + 24)}, // libblkid bcache.c
	{name: "bcache", magic: []byte("\xc6\x85\x73\xf6\x4e\x1a\x45\xca"), at: at(4096 + 24)},   // likewise
	{name: "f2fs", magic: le32(0xf2f52010), at: at(1024, 4096+1024)},                         // include/linux/f2fs_fs.h
	{name: "LVM2 physical volume", magic: []byte("LABELONE"), at: at(0, 512, 1024, 1536)},    // LVM2 lib/label/label.h: in any of 4 sectors
	{name: "md RAID", magic: le32(0xa92b4efc), at: mdPlaces},                                 // include/uapi/linux/raid/md_p.h
	{name: "md RAID", magic: be32(0xa92b4efc), at: mdPlaces},                                 // 0.90 is in the host's order
	{name: "DDF RAID", magic: be32(0xde11de11), at: before(512, 4096)},                       // libblkid ddf_raid.c
	{name: "Intel RAID", magic: []byte("Intel Raid ISM Cfg Sig. "), at: before(1024, 8192)},  // libblkid isw_raid.c
	{name: "LUKS", magic: []byte("LUKS\xba\xbe"), at: at(0)},                                 // cryptsetup LUKS1 and LUKS2
	{name: "LUKS2, second header", magic: []byte("SKUL\xba\xbe"), at: luksSecond},            // cryptsetup LUKS2 2.1
	{name: "BitLocker", magic: []byte("-FVE-FS-"), at: at(3)},                                // libblkid bitlocker.c
	{name: "VDO", magic: []byte("dmvdo001"), at: at(0)},                                      // libblkid vdo.c
	{name: "Stratis", magic: []byte("!Stra0tis\x86\xff\x02^\x41rh"), at: at(512+4, 9*512+4)}, // libblkid stratis.c
	{name: "swap", magic: []byte("SWAPSPACE2"), at: pageEnds(10)},                            // include/linux/swap.h
	{name: "swap", magic: []byte("SWAP-SPACE"), at: pageEnds(10)},                            // likewise
	{name: "hibernation image", magic: []byte("S1SUSPEND"), at: pageEnds(10)},                // kernel/power/swap.c
	{name: "zfs", magic: le64(0x00bab10c), at: zfsUberblocks},                                // OpenZFS uberblock_impl.h
	{name: "zfs", magic: be64(0x00bab10c), at: zfsUberblocks},                                // in the writer's order
	{name: "NTFS", magic: []byte("NTFS    "), at: at(3)},                                     // fs/ntfs3/ntfs.h
	{name: "exFAT", magic: []byte("EXFAT   "), at: at(3)},                                    // fs/exfat/exfat_raw.h
	{name: "FAT", magic: []byte("FAT12   "), at: at(54)},                                     // include/uapi/linux/msdos_fs.h
	{name: "FAT", magic: []byte("FAT16   "), at: at(54)},                                     // likewise
	{name: "FAT", magic: []byte("FAT32   "), at: at(82)},                                     // likewise
	{name: "HFS+", magic: []byte{'H', '+', 0, 4}, at: at(1024)},                              // fs/hfsplus/hfsplus_raw.h
	{name: "HFSX", magic: []byte{'H', 'X', 0, 5}, at: at(1024)},                              // likewise
	{name: "APFS", magic: []byte("NXSB"), at: at(32)},                                        // libblkid apfs.c
	{name: "ISO 9660", magic: []byte("CD001"), at: at(32<<10 + 1)},                           // ECMA-119 8.4
	{name: "UDF", magic: []byte("BEA01"), at: at(32<<10+1, 34<<10+1)},                        // ECMA-167 2/9
	{name: "squashfs", magic: []byte("hsqs"), at: at(0)},                                     // fs/squashfs/squashfs_fs.h
	{name: "erofs", magic: le32(0xe0f5e1e2), at: at(1024)},                                   // fs/erofs/erofs_fs.h
	{name: "JFS", magic: []byte("JFS1"), at: at(32 << 10)},                                   // fs/jfs/jfs_superblock.h
	{name: "reiserfs", magic: []byte("ReIsEr"), at: at(8<<10+52, 64<<10+52)},                 // libblkid reiserfs.c
	{name: "GFS2", magic: be32(0x01161970), at: at(64 << 10)},                                // include/uapi/linux/gfs2_ondisk.h
	{name: "OCFS2", magic: []byte("OCFSV2"), at: at(1024, 2048, 4096, 8192)},                 // fs/ocfs2/ocfs2_fs.h
	{name: "Oracle ASM", magic: []byte("ORCLDISK"), at: at(32)},                              // libblkid oracleasm.c
	{name: "Ceph", magic: []byte("bluestore block device"), at: at(0)},                       // libblkid bluestore.c
	{name: "DRBD", magic: be32(0x8374026b), at: before(4096 - 60)},                           // libblkid drbd.c: version 8
	{name: "DRBD", magic: be32(0x8374026d), at: before(4096 - 60)},                           // version 9
}

// luksSecond are the offsets of LUKS2's second header, for each size of the first.
func luksSecond(int64) []int64 {
	var offs []int64
	for off := int64(16 << 10); off <= 4<<20; off *= 2 {
		offs = append(offs, off)
	}
	return offs
}

// edge is how much of each end must be zero.
const edge = 1 << 20

// window reads a device in aligned pieces of one MiB, as direct I/O asks, and
// keeps the last.
type window struct {
	r    io.ReaderAt
	size int64
	buf  []byte // edge long, aligned
	from int64
	n    int // valid bytes of buf
}

// read gives n bytes at off, at most 4 KiB, fewer at the device's end.
func (w *window) read(off int64, n int) ([]byte, error) {
	end := min(off+int64(n), w.size)
	if off < w.from || end > w.from+int64(w.n) {
		const page = 4096
		from := off &^ (page - 1)
		want := int(min(edge, w.size-from))
		if _, err := w.r.ReadAt(w.buf[:want], from); err != nil {
			w.n = 0
			return nil, fmt.Errorf("%w: read %d bytes at %d: %w", ErrUnknown, want, from, err)
		}
		w.from, w.n = from, want
	}
	return w.buf[off-w.from : end-w.from], nil
}

// signed looks for every signature of the table.
func signed(w *window) []error {
	var refused []error
	for _, s := range signatures {
		for _, off := range s.at(w.size) {
			if off < 0 || off > w.size-int64(len(s.magic)) {
				continue
			}
			got, err := w.read(off, len(s.magic))
			if err != nil {
				return append(refused, err)
			}
			if !bytes.Equal(got, s.magic) {
				continue
			}
			if s.also != nil && !s.also(func(off int64, n int) []byte {
				if b, e := w.read(off, n); e == nil && len(b) == n {
					return b
				}
				return make([]byte, n) // unreadable: let the magic decide
			}) {
				continue
			}
			refused = append(refused, fmt.Errorf("%w of %s at byte %d; if that may be lost, clear it (wipefs) and try again", ErrSignature, s.name, off))
			break
		}
	}
	return refused
}

// edges looks at the first and last MiB. They must be zero, unless the device
// begins with a store of ours, which then may have written anywhere.
func edges(w *window) (ours bool, err error) {
	first, err := w.read(0, int(min(4096, w.size)))
	if err != nil {
		return false, err
	}
	if rawblock.IsStore(first) {
		return true, nil
	}
	for _, from := range []int64{0, max(0, w.size-edge)} {
		for off := from; off < min(from+edge, w.size); off += 4096 {
			b, err := w.read(off, 4096)
			if err != nil {
				return false, err
			}
			for i, c := range b {
				if c != 0 {
					return false, fmt.Errorf("%w: byte %d is %#02x; if it may be lost, clear the first and last MiB and try again", ErrNotEmpty, off+int64(i), c)
				}
			}
		}
	}
	return false, nil
}
