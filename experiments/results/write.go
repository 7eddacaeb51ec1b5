package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
)

// Write writes the set's results under dir and returns the paths of the .txt
// files: none if nothing was measured, two if the set holds both provenances.
// A file appears whole or not at all, the .json before its .txt, and none is
// ever overwritten. Errors are those of the file system.
func Write(dir string, set runner.Set, b Build) ([]string, error) {
	var paths []string
	for _, p := range []lab.Provenance{lab.Modelled, lab.Measured} {
		results := set.Results(p)
		if len(results) == 0 {
			continue
		}
		path, err := write(dir, set, p, results, b)
		if err != nil {
			return paths, fmt.Errorf("results: write the %s results of %s: %w", p, set.Experiment.Name, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Writable makes the folder, and a file there that it removes again: what is
// found out before a run doesn't cost its figures. Errors are those of the file
// system.
func Writable(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".*.tmp"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("results: no file can be made in folder %s: %w", dir, err)
	}
	return nil
}

// pair is a histogram's bucket, and four an interval of a timeline, indented. On
// one line they are read more easily, and most of a file is these.
var (
	pair = regexp.MustCompile(`\[\s+(\d+),\s+(\d+)\s+\]`)
	four = regexp.MustCompile(`\[\s+(\d+),\s+(\d+),\s+(\d+),\s+(\d+)\s+\]`)
)

func write(dir string, set runner.Set, p lab.Provenance, results []lab.Result, b Build) (string, error) {
	var text bytes.Buffer
	if err := lab.WriteResults(&text, results); err != nil {
		return "", err
	}
	m, err := newMeta(set, p, b)
	if err != nil {
		return "", err
	}
	meta, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(dir, p.String())
	if p == lab.Measured {
		folder = filepath.Join(folder, m.HostID)
	}
	folder = filepath.Join(folder, strings.ReplaceAll(set.Experiment.Name, "/", "-"))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	name, err := claim(filepath.Join(folder, set.Start.UTC().Format("20060102T150405Z")+"-"+set.Rig.Name()))
	if err != nil {
		return "", err
	}
	meta = pair.ReplaceAll(meta, []byte("[$1, $2]"))
	meta = four.ReplaceAll(meta, []byte("[$1, $2, $3, $4]"))
	if err := replace(name+".json", append(meta, '\n')); err != nil {
		return "", errors.Join(err, os.Remove(name+".json"))
	}
	return name + ".txt", replace(name+".txt", text.Bytes())
}

// claim makes NAME.json as an empty file of which this process alone knows that
// it may be replaced. If it or NAME.txt is there it goes on with NAME-2.
func claim(base string) (name string, err error) {
	for i := 1; ; i++ {
		name = base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		if _, err := os.Lstat(name + ".txt"); err == nil {
			continue
		}
		f, err := os.OpenFile(name+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return name, f.Close()
	}
}

// replace puts the content in place at once: a temporary file beside it, then a
// rename.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
