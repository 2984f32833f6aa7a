package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/vocab"
)

// Entry is an image that batch pulled.
type Entry struct {
	vocab.Image           // its Ref was made by [Ref]
	Size        int64     `json:"size"` // bytes, shared layers included
	Layers      []Layer   `json:"layers,omitempty"`
	Pulled      time.Time `json:"pulled"`
	Needed      time.Time `json:"needed"` // when an instance last began or ended with it
}

// Ledger records which images of one engine batch pulled, and which of them a process
// holds. It is safe for concurrent use by any number of processes.
type Ledger struct {
	dir string

	mu   sync.Mutex
	held map[string]*shared // by the names of images
}

// shared is this process's lock on an image. All its holds share one open file: a thousand agents on
// one image need no thousand files.
type shared struct {
	*flock.Flock
	holds int
}

// ledgerVersion is the version of the file's format.
const ledgerVersion = 1

// lockPoll is the time between two tries to get a lock that another process holds.
const lockPoll = 10 * time.Millisecond

// OpenLedger returns the ledger in dir, and creates dir if it does not exist. The
// caller chooses one directory for each engine. If files in dir cannot be locked, as on
// some network mounts, OpenLedger returns an error.
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Join(dir, "holds"), 0o755); err != nil {
		return nil, fault.New(fault.Host, "creating the directory of the image ledger", err)
	}
	l := &Ledger{dir: dir, held: map[string]*shared{}}
	probe := l.holdFile("")
	_, err := probe.TryRLock()
	if err = errors.Join(err, probe.Close()); err != nil {
		return nil, fault.New(fault.Host, "locking files of the image ledger", err)
	}
	return l, nil
}

func (l *Ledger) path() string { return filepath.Join(l.dir, "ledger.json") }

// Entries returns the images in the ledger, sorted by name. The engine may no longer have
// some of them.
func (l *Ledger) Entries() ([]Entry, error) {
	all, err := l.read()
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Entry) int { return strings.Compare(a.Ref, b.Ref) }), nil
}

func (l *Ledger) read() (map[string]Entry, error) {
	data, err := regular.ReadFile(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Entry{}, nil
	}
	if err != nil {
		return nil, fault.New(fault.Host, "reading the image ledger", err)
	}
	all, err := decode(data)
	if err != nil {
		return nil, fault.New(fault.Host, "reading the image ledger "+l.path(), err).
			WithHint("remove the file; batch then never evicts the images that were listed in it")
	}
	return all, nil
}

// file is the form of the ledger on disk.
type file struct {
	Version int     `json:"version"`
	Images  []Entry `json:"images"`
}

func decode(data []byte) (map[string]Entry, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Version != ledgerVersion {
		return nil, fmt.Errorf("version %d, expected %d: another version of batch wrote it", f.Version, ledgerVersion)
	}
	all := make(map[string]Entry, len(f.Images))
	for _, e := range f.Images {
		if e.Ref == "" || e.ID == "" {
			return nil, errors.New("an entry without name or id")
		}
		all[e.Ref] = e
	}
	return all, nil
}

// update changes the ledger atomically: no other process sees an incomplete change.
func (l *Ledger) update(change func(map[string]Entry)) error {
	lock := flock.New(filepath.Join(l.dir, "ledger.lock"), flock.SetPermissions(0o644))
	if err := lock.Lock(); err != nil {
		return fault.New(fault.Host, "locking the image ledger", err)
	}
	defer lock.Close()
	all, err := l.read()
	if err != nil {
		return err
	}
	change(all)
	f := file{Version: ledgerVersion, Images: []Entry{}}
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		f.Images = append(f.Images, all[ref])
	}
	err = atomicfile.Files{}.Write(l.path(), 0o644, func(w io.Writer) error { return json.NewEncoder(w).Encode(f) })
	if err != nil {
		return fault.New(fault.Host, "writing the image ledger", err)
	}
	return nil
}

// holdFile returns the lock file of ref. Every process that needs ref now has a shared lock
// on it, which ends with the process. The file is empty and is never removed: if it were
// removed while another process opens it, two processes could lock different files.
func (l *Ledger) holdFile(ref string) *flock.Flock {
	return flock.New(filepath.Join(l.dir, "holds", keyName(nameOf(ref))), flock.SetPermissions(0o644))
}

// hold is one instance's need for an image. It must be closed once.
type hold struct {
	ledger *Ledger
	name   string
}

// hold prevents every process from evicting ref until the hold is closed. If a process is
// evicting ref at this moment, hold waits.
func (l *Ledger) hold(ctx context.Context, ref string) (*hold, error) {
	h := &hold{l, nameOf(ref)}
	if l.join(h.name, nil) {
		return h, nil
	}
	lock := l.holdFile(ref)
	if _, err := lock.TryRLockContext(ctx, lockPoll); err != nil {
		_ = lock.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.Host, "locking image "+ref, err)
	}
	l.join(h.name, lock)
	return h, nil
}

// join counts a hold on an image that this process has locked. If it has not, join keeps lock for
// this, or returns false if lock is nil.
func (l *Ledger) join(name string, lock *flock.Flock) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.held[name]
	switch {
	case s == nil && lock == nil:
		return false
	case s == nil:
		s = &shared{Flock: lock}
		l.held[name] = s
	case lock != nil: // another hold was faster
		_ = lock.Close()
	}
	s.holds++
	return true
}

// Close ends the hold, and with the last one the lock.
func (h *hold) Close() error {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	s := h.ledger.held[h.name]
	if s.holds--; s.holds > 0 {
		return nil
	}
	delete(h.ledger.held, h.name)
	return s.Flock.Close()
}

// claim prevents others from holding ref until the lock is closed. It returns nil if
// a process holds ref.
func (l *Ledger) claim(ref string) (*flock.Flock, error) {
	lock := l.holdFile(ref)
	ok, err := lock.TryLock()
	if ok && err == nil {
		return lock, nil
	}
	_ = lock.Close()
	if err != nil {
		return nil, fault.New(fault.Host, "claiming image "+ref, err)
	}
	return nil, nil
}
