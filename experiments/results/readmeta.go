package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"latlab.example/common/host"
	"latlab.example/common/lab"
)

// ErrMeta occurs when a file isn't the JSON half of a latlab result.
var ErrMeta = errors.New("not the .json file of a latlab result")

// Limits of what is read: far above what a run writes, and small enough for a
// stranger's file to be harmless.
const (
	MaxMeta  = 32 << 20 // bytes of a file
	MaxFiles = 10_000   // .json files of a folder
	MaxArms  = 2_000    // of a file
	maxText  = 16 << 10 // bytes of a name or a sentence
	maxList  = 1_000    // sentences, stages or figures of an arm
	maxDepth = 8        // folders within each other
)

// Stored is a result's JSON file that was read.
type Stored struct {
	Path string
	Meta Meta
}

// Folder is what was read of a folder, in the order of paths.
type Folder struct {
	Runs     []Stored
	Sweeps   []Sweep
	Tornados []Tornado
	Skipped  []Skipped
}

// Skipped is a file that was left out, and why; Err doesn't name it.
type Skipped struct {
	Path string
	Err  error
}

// ReadMeta reads the JSON half of a result; path names it in errors, which wrap
// [ErrMeta] or are those of r. What comes back keeps these rules, whoever wrote
// the file: provenance is modelled or measured, and measured only with a real rig
// and a host; each arm has a name and each trial lies within the blocks; texts
// and lists are of bounded length.
func ReadMeta(r io.Reader, path string) (Meta, error) {
	m, err := readMeta(r)
	if err != nil {
		return Meta{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func readMeta(r io.Reader) (Meta, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxMeta+1))
	if err != nil {
		return Meta{}, err
	}
	if len(text) > MaxMeta {
		return Meta{}, fmt.Errorf("%w: it is longer than %d MiB", ErrMeta, MaxMeta>>20)
	}
	var m Meta
	if err := json.Unmarshal(text, &m); err != nil {
		return Meta{}, fmt.Errorf("%w: %w", ErrMeta, err)
	}
	if err := m.check(); err != nil {
		return Meta{}, fmt.Errorf("%w: %w", ErrMeta, err)
	}
	return m, nil
}

// ReadMetaFile is ReadMeta of a file: a result's .json, or its .txt, beside which
// the .json is looked for.
func ReadMetaFile(path string) (Stored, error) {
	f, err := os.Open(beside(path))
	if err != nil {
		return Stored{}, err
	}
	defer f.Close()
	m, err := ReadMeta(f, f.Name())
	return Stored{f.Name(), m}, err
}

// beside is the .json of a result's .txt.
func beside(path string) string {
	if base, ok := strings.CutSuffix(path, ".txt"); ok {
		return base + ".json"
	}
	return path
}

// Read reads one file into f: a result's .json or .txt, a sweep or a tornado. The
// error names the file and wraps [ErrMeta], or is that of the file system.
func (f *Folder) Read(path string) error {
	path = beside(path)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.read(file, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// read tries what a .json file may be. The error is of a result, which most are.
func (f *Folder) read(file io.ReadSeeker, path string) error {
	m, err := readMeta(file)
	if err == nil {
		f.Runs = append(f.Runs, Stored{path, m})
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sweep, tornados, other := ReadSweep(file)
	switch {
	case other != nil:
		return err
	case sweep != nil:
		f.Sweeps = append(f.Sweeps, *sweep)
	}
	f.Tornados = append(f.Tornados, tornados...)
	return nil
}

// ReadFolder reads all results under a folder. It never leaves the folder: links
// that lead out of it are skipped, as are files that aren't regular. A file that
// can't be read, or that lies in the half of the other provenance, is skipped with
// its reason. The error is that of the folder itself.
func ReadFolder(dir string) (Folder, error) {
	var f Folder
	root, err := os.OpenRoot(dir)
	if err != nil {
		return f, err
	}
	defer root.Close()
	skip := func(path string, err error) { f.Skipped = append(f.Skipped, Skipped{path, err}) }
	files := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			skip(path, err)
			return nil
		case entry.IsDir() && strings.Count(name, "/") >= maxDepth:
			skip(path, fmt.Errorf("more than %d folders within each other", maxDepth))
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".json") || strings.HasPrefix(entry.Name(), "."):
			return nil
		case !entry.Type().IsRegular():
			skip(path, errors.New("not a regular file"))
			return nil
		}
		if files++; files > MaxFiles {
			skip(path, fmt.Errorf("this file and those after it: the folder has more than %d .json files", MaxFiles))
			return fs.SkipAll
		}
		if err := f.readIn(root, name, path); err != nil {
			skip(path, err)
		}
		return nil
	})
	if err != nil {
		return Folder{}, err
	}
	return f, nil
}

func (f *Folder) readIn(root *os.Root, name, path string) error {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	n := len(f.Runs)
	if err := f.read(file, path); err != nil || len(f.Runs) == n {
		return err
	}
	half, _, _ := strings.Cut(name, "/")
	own := f.Runs[n].Meta.Provenance
	if half != own && (half == lab.Modelled.String() || half == lab.Measured.String()) {
		f.Runs = f.Runs[:n]
		return fmt.Errorf("%w: it says that it is %s, and lies in the half of what is %s", ErrMeta, own, half)
	}
	return nil
}

// check says what a file breaks of the rules that ReadMeta promises.
func (m Meta) check() error {
	texts := []string{m.Unit, m.Baseline, m.Experiment, m.Question, m.Note, m.Rule, m.Rig, m.Kind, m.HostID, m.Build.Commit, m.Build.Version, m.Build.Go}
	kind, err := lab.ParseKind(m.Kind)
	switch {
	case m.Experiment == "":
		return errors.New("it names no experiment")
	case m.Rig == "":
		return errors.New("it names no rig")
	case err != nil:
		return err
	case m.Provenance != lab.Modelled.String() && m.Provenance != lab.Measured.String():
		return fmt.Errorf("its provenance is %.40q", m.Provenance)
	case m.Provenance == lab.Measured.String() && (kind != lab.KindReal || m.HostID == ""):
		return fmt.Errorf("it says measured, but its rig is %s and its host %.40q", kind, m.HostID)
	case len(m.Arms) == 0:
		return errors.New("it has no arm with figures")
	case len(m.Arms) > MaxArms || len(m.Refused) > MaxArms:
		return fmt.Errorf("it has more than %d arms", MaxArms)
	case m.Blocks < 0 || m.Planned < 0:
		return errors.New("its number of blocks is below 0")
	}
	if len(m.Units) > maxList {
		return fmt.Errorf("it has more than %d units", maxList)
	}
	for _, u := range m.Units {
		if u.Better != lab.Up.String() && u.Better != lab.Down.String() {
			return fmt.Errorf("unit %.40q is better %.40q; want up or down", u.Name, u.Better)
		}
		texts = append(texts, u.Name)
	}
	for _, r := range m.Refused {
		texts = append(texts, r.Arm, r.Reason)
	}
	if m.Host != nil {
		texts = append(texts, hostTexts(*m.Host)...)
	}
	for _, a := range m.Arms {
		own, err := a.check()
		if err != nil {
			return err
		}
		texts = append(texts, own...)
	}
	return bounded(texts)
}

// check says what is wrong with an arm, and returns its texts.
func (a Arm) check() (texts []string, err error) {
	switch {
	case a.Arm == "":
		return nil, errors.New("an arm has no name")
	case len(a.Trials) == 0:
		return nil, fmt.Errorf("arm %.80q has no trial", a.Arm)
	case len(a.Assumptions) > maxList || len(a.Path) > maxList || a.Stages != nil && len(a.Stages.Stages) > maxList:
		return nil, fmt.Errorf("arm %.80q has more than %d assumptions or stages", a.Arm, maxList)
	}
	texts = append([]string{a.Arm, a.Calibration}, a.Assumptions...)
	if e := a.Effect; e != nil {
		if !isVerdict(e.Verdict) {
			return nil, fmt.Errorf("arm %.80q: its verdict is %.40q", a.Arm, e.Verdict)
		}
		if len(e.Ratios) > maxList {
			return nil, fmt.Errorf("arm %.80q has effects on more than %d figures", a.Arm, maxList)
		}
		texts = append(texts, e.Reference, e.ReferenceProvenance, e.Reason)
	}
	if t := a.Timeline; t != nil {
		if !t.sound() {
			return nil, fmt.Errorf("arm %.80q: an interval of its timeline lies outside of the operation", a.Arm)
		}
		texts = append(texts, t.Stages...)
	}
	for _, p := range a.Path {
		texts = append(texts, p.Stage)
	}
	if a.Stages != nil {
		texts = append(texts, a.Stages.Set)
		for _, s := range a.Stages.Stages {
			texts = append(texts, s.Name)
		}
	}
	for i, t := range a.Trials {
		switch {
		case t.Block < 0 || t.Place < 0 || t.Ops < 0:
			return nil, fmt.Errorf("arm %.80q, trial %d: block, place or operations below 0", a.Arm, i+1)
		case len(t.Values) > maxList:
			return nil, fmt.Errorf("arm %.80q, trial %d: more than %d figures", a.Arm, i+1, maxList)
		}
		texts = append(texts, t.Dirty)
		for unit := range t.Values {
			texts = append(texts, unit)
		}
	}
	return texts, nil
}

func hostTexts(f host.Fingerprint) []string {
	texts := []string{f.OS, f.Arch, f.Kernel, f.CPU, f.Virtual, f.Governor, f.ClockSource, f.Go}
	for _, p := range f.Paths {
		texts = append(texts, p.Path, p.FS, p.Dev, p.Name, p.Disk, p.Scheduler, p.Rotational, p.Backing, p.BackingFS)
	}
	return texts
}
