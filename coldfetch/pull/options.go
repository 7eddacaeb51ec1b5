package pull

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"

	"latlab.example/coldfetch/slug"
	"latlab.example/common/metrics"
)

// Sync is what a pull flushes to the disk.
type Sync string

// The levels. A rename may reach the disk before the bytes of the file do: with
// SyncNone a crash can leave a file under its name that is empty or half. With
// SyncFile it can't; a crash may still take back the rename, and the object is
// pulled again. With SyncFolder what was published stays.
const (
	SyncFolder Sync = "file+folder"
	SyncFile   Sync = "file"
	SyncNone   Sync = "none"
)

// SyncToggle chooses the level; its baseline is the safe one.
var SyncToggle = metrics.NewToggle("fsync", SyncFolder, SyncFile, SyncNone)

// The stages of a pull.
const (
	StageDNS       metrics.Stage = iota // looking up the store's name
	StageConnect                        // TCP
	StageTLS                            // handshake
	StageFirstByte                      // from having a connection to the first byte of the answer
	StageBody                           // reading it, checksum and writing to the file
	StageRetries                        // requests that came to nothing, and the waits before the next
	StageFsync                          // of the file
	StagePublish                        // rename, and fsync of the folder
)

// Stages names them.
var Stages = metrics.NewStageSet("pull", "dns", "connect", "tls", "first_byte", "body", "retries", "fsync", "publish")

var (
	// ErrOptions occurs when Options can't be.
	ErrOptions = errors.New("not a puller")
	// ErrNotFound occurs when the store has no such object.
	ErrNotFound = errors.New("no such object")
	// ErrShort occurs when the body broke off, each time that it was tried.
	ErrShort = errors.New("the object didn't come whole")
	// ErrChecksum occurs when what came isn't what the store's checksum says,
	// each time that it was tried.
	ErrChecksum = errors.New("the object's checksum is another")
	// ErrNoProof occurs when the store gave nothing by which to know that the
	// object is whole and right: see [Options].LengthOnly.
	ErrNoProof = errors.New("the store gave no checksum of the whole object")
)

// Options shape a Puller. Client, Bucket and Dir are needed.
type Options struct {
	// Client is used for GetObject alone. Give it a Region, else it asks for the
	// bucket's before its first request.
	Client *minio.Client
	Bucket string
	Dir    string // where the files go; New makes it. No two pullers may share one

	File     func(key string) string // name of an object's file; slug.File if nil. No two keys may share one
	Sync     Sync                    // SyncFolder if empty
	Attempts int                     // how often a body is asked for, beside the client's own retries; 4 if zero
	// Herd lets each caller pull for itself.
	Herd bool
	// LengthOnly accepts an object by its length alone, when the store keeps no
	// checksum of the whole of it, as for some multipart uploads.
	LengthOnly bool
	// Recorder gets the stages of each pull that asked the store; its set is Stages.
	Recorder *metrics.Recorder
	FS       FS // the operating system's if nil
}

func (o *Options) fill() error {
	if o.Client == nil || o.Bucket == "" || o.Dir == "" {
		return fmt.Errorf("pull: %w: give a client, a bucket and a folder", ErrOptions)
	}
	if o.Recorder != nil && o.Recorder.Set() != Stages {
		return fmt.Errorf("pull: %w: the recorder must have the set pull.Stages", ErrOptions)
	}
	if o.File == nil {
		o.File = slug.File
	}
	if o.Sync == "" {
		o.Sync = SyncFolder
	}
	if o.Sync != SyncFolder && o.Sync != SyncFile && o.Sync != SyncNone {
		return fmt.Errorf("pull: %w: sync %q; there are %s, %s and %s", ErrOptions, o.Sync, SyncFolder, SyncFile, SyncNone)
	}
	if o.Attempts == 0 {
		o.Attempts = 4
	}
	if o.Attempts < 0 {
		return fmt.Errorf("pull: %w: %d attempts", ErrOptions, o.Attempts)
	}
	if o.FS == nil {
		o.FS = OS
	}
	return nil
}

// Temporary files have names of this form.
const (
	tempPrefix = ".pull-"
	tempSuffix = ".tmp"
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// path is where an object's file lies.
func (o *Options) path(key string) (string, error) {
	name := o.File(key)
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") || isTemp(name) {
		return "", fmt.Errorf("pull: %w: Options.File gives %q for key %q, which can't be a file's name here", ErrOptions, name, key)
	}
	return filepath.Join(o.Dir, name), nil
}
