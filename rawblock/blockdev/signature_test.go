package blockdev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// sparse is a device of zeros but for a few bytes.
type sparse struct {
	size  int64
	at    int64
	bytes []byte
	bad   int64 // from here on reads fail, if positive
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	if off%4096 != 0 || off+int64(len(p)) > s.size || len(p) == 0 {
		return 0, errors.New("not as direct I/O asks")
	}
	if s.bad > 0 && off+int64(len(p)) > s.bad {
		return 0, io.ErrUnexpectedEOF
	}
	clear(p)
	for i, c := range s.bytes {
		if j := s.at + int64(i) - off; j >= 0 && j < int64(len(p)) {
			p[j] = c
		}
	}
	return len(p), nil
}

func look(s sparse) *window { return &window{r: s, size: s.size, buf: make([]byte, edge)} }

// Each signature is found at each of its places, in small and large devices, and
// none is found on an empty one.
func TestSignatures(t *testing.T) {
	for _, size := range []int64{512, 4096, 1 << 20, 3<<20 + 512, 64 << 20, 1 << 40} {
		if errs := signed(look(sparse{size: size})); len(errs) > 0 {
			t.Errorf("empty device of %d bytes: %v", size, errs)
		}
		for _, s := range signatures {
			places := s.at(size)
			if len(places) > 16 { // zfs: the first and last of its many
				places = []int64{places[0], places[len(places)/2], places[len(places)-1]}
			}
			for _, off := range places {
				if off < 0 || off+int64(len(s.magic)) > size {
					continue
				}
				errs := signed(look(sparse{size: size, at: off, bytes: s.magic}))
				if !slices.ContainsFunc(errs, func(err error) bool {
					return errors.Is(err, ErrSignature) && strings.Contains(err.Error(), s.name)
				}) {
					t.Errorf("%s at %d of %d: %v", s.name, off, size, errs)
				}
			}
		}
	}
}

// The table holds what the kernel's and the standards' documents say, written
// here a second time and in the way that they write it.
func TestKnownPlaces(t *testing.T) {
	const size = 64 << 20
	for name, at := range map[string]struct {
		off   int64
		bytes string
	}{
		"GPT": {512, "EFI PART"}, "MBR": {510, "\x55\xAA"}, "ext": {0x438, "\x53\xEF"}, "xfs": {0, "XFSB"},
		"btrfs": {0x10040, "_BHRfS_M"}, "LVM2": {512, "LABELONE"}, "md RAID": {4096, "\xfc\x4e\x2b\xa9"},
		"LUKS": {0, "LUKS\xba\xbe"}, "swap": {0xff6, "SWAPSPACE2"}, "zfs": {0x20000, "\x0c\xb1\xba\x00\x00\x00\x00\x00"},
		"NTFS": {3, "NTFS    "}, "FAT": {0x52, "FAT32   "}, "ISO 9660": {0x8001, "CD001"},
	} {
		errs := signed(look(sparse{size: size, at: at.off, bytes: []byte(at.bytes)}))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), name) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// Two bytes that could be ext's magic by chance aren't taken for it if the rest
// can't be a superblock.
func TestChanceIsNoFileSystem(t *testing.T) {
	b := make([]byte, 1024)
	binary.LittleEndian.PutUint32(b[24:], 0xdeadbeef)
	b[56], b[57] = 0x53, 0xef
	if errs := signed(look(sparse{size: 1 << 20, at: 1024, bytes: b})); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestEdges(t *testing.T) {
	const size = 8<<20 + 512
	for name, c := range map[string]struct {
		dev  sparse
		want error
	}{
		"empty":                      {sparse{size: size}, nil},
		"byte between":               {sparse{size: size, at: 1 << 20, bytes: []byte{1}}, nil},
		"byte before the last MiB":   {sparse{size: size, at: size - 1<<20 - 1, bytes: []byte{1}}, nil},
		"first byte":                 {sparse{size: size, at: 0, bytes: []byte{1}}, ErrNotEmpty},
		"last byte of the first MiB": {sparse{size: size, at: 1<<20 - 1, bytes: []byte{1}}, ErrNotEmpty},
		"first byte of the last MiB": {sparse{size: size, at: size - 1<<20, bytes: []byte{1}}, ErrNotEmpty},
		"last byte":                  {sparse{size: size, at: size - 1, bytes: []byte{1}}, ErrNotEmpty},
		"small, empty":               {sparse{size: 4096}, nil},
		"small, last byte":           {sparse{size: 4096, at: 4095, bytes: []byte{1}}, ErrNotEmpty},
		"unreadable end":             {sparse{size: size, bad: size - 512}, ErrUnknown},
	} {
		ours, err := edges(look(c.dev))
		if ours || !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: ours %v, %v; want %v", name, ours, err, c.want)
		}
	}
	if errs := signed(look(sparse{size: size, bad: size - 512})); len(errs) != 1 || !errors.Is(errs[0], ErrUnknown) {
		t.Errorf("unreadable end: %v, want ErrUnknown", errs)
	}
}

// What a window gives is what the device holds, wherever it is asked.
func TestWindow(t *testing.T) {
	const size = 3 << 20
	w := look(sparse{size: size, at: 1<<20 - 3, bytes: []byte("abcdef")})
	for _, off := range []int64{0, 1<<20 - 3, 5, 2 << 20, 1<<20 - 3, size - 6} {
		got, err := w.read(off, 6)
		want := make([]byte, 6)
		if off == 1<<20-3 {
			want = []byte("abcdef")
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("at %d: %q, %v; want %q", off, got, err, want)
		}
	}
}
