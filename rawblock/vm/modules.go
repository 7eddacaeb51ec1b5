package main

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// wanted are the modules that the machine needs: for its root disk, and for what
// the guards must see.
var wanted = []string{"virtio_pci", "virtio_blk", "dm_mod", "loop"}

// inOrder gives the files of the wanted modules and all that they depend on, each
// after what it depends on. What is built into the kernel is left out.
func inOrder(dir string, wanted []string) ([]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".ko"); ok {
			files[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	builtin := strings.ReplaceAll(string(b), "-", "_")
	var ordered []string
	var add func(name string) error
	add = func(name string) error {
		file, ok := files[name]
		if !ok && strings.Contains(builtin, "/"+name+".ko") {
			return nil
		} else if !ok {
			return fmt.Errorf("module %s is not in %s: compressed modules aren't read, Debian 12 has none", name, dir)
		}
		if slices.Contains(ordered, file) {
			return nil
		}
		needs, err := depends(file)
		if err != nil {
			return err
		}
		for _, n := range needs {
			if err := add(n); err != nil {
				return err
			}
		}
		ordered = append(ordered, file)
		return nil
	}
	for _, name := range wanted {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// depends reads a module's own list. In section .modinfo lie "name=value" texts,
// each ended by a zero.
func depends(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("module %s has no section .modinfo", file)
	}
	b, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	for text := range strings.SplitSeq(string(b), "\x00") {
		if list, ok := strings.CutPrefix(text, "depends="); ok && list != "" {
			return strings.Split(strings.ReplaceAll(list, "-", "_"), ","), nil
		}
	}
	return nil, nil
}
