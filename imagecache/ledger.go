package imagecache

import (
	"context"
	"crypto/sha256"
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
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/vocab"
)

// Entry is an image that batch pulled, or made of another one.
type Entry struct {
	vocab.Image           // whose Ref is one of [Ref]
	Size        int64     `json:"size"` // bytes, shared layers included
	Layers      []Layer   `json:"layers,omitempty"`
	Pulled      time.Time `json:"pulled"`
	Needed      time.Time `json:"needed"` // when an instance last began or ended with it

	// Of and OfID are the other one's Ref and ID: see [Derived]. Else they are empty.
	Of   string `json:"of,omitempty"`
	OfID string `json:"of_id,omitempty"`
}

// Ledger says which images of one engine batch pulled, and who holds them. It
// is safe for concurrent use by any number of processes.
type Ledger struct{ dir string }

// ledgerVersion is that of the file.
const ledgerVersion = 1

// lockPoll is how often a lock that another process has is tried.
const lockPoll = 10 * time.Millisecond

// OpenLedger returns the ledger in dir, which is made when it is missing. The
// caller chooses one directory for each engine. It is an error when files there
// cannot be locked, as on some network mounts.
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Join(dir, "holds"), 0o755); err != nil {
		return nil, fault.New(fault.Host, "making the directory of the images' ledger", err)
	}
	l := &Ledger{dir: dir}
	probe := l.holdFile("")
	_, err := probe.TryRLock()
	if err = errors.Join(err, probe.Close()); err != nil {
		return nil, fault.New(fault.Host, "locking files of the images' ledger", err)
	}
	return l, nil
}

func (l *Ledger) path() string { return filepath.Join(l.dir, "ledger.json") }

// Entries returns what is in the ledger, by name. An image in it may be gone
// from the engine meanwhile.
func (l *Ledger) Entries() ([]Entry, error) {
	all, err := l.read()
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Entry) int { return strings.Compare(a.Ref, b.Ref) }), nil
}

func (l *Ledger) read() (map[string]Entry, error) {
	data, err := os.ReadFile(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Entry{}, nil
	}
	if err != nil {
		return nil, fault.New(fault.Host, "reading the images' ledger", err)
	}
	all, err := decode(data)
	if err != nil {
		return nil, fault.New(fault.Host, "reading the images' ledger "+l.path(), err).
			WithHint("remove the file; the images in it then count as yours and are never evicted")
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
		return nil, fmt.Errorf("version %d is not %d: another batch wrote it", f.Version, ledgerVersion)
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

// update changes the ledger in one step that no other process sees half of.
func (l *Ledger) update(change func(map[string]Entry)) error {
	lock := flock.New(filepath.Join(l.dir, "ledger.lock"), flock.SetPermissions(0o644))
	if err := lock.Lock(); err != nil {
		return fault.New(fault.Host, "locking the images' ledger", err)
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
		return fault.New(fault.Host, "writing the images' ledger", err)
	}
	return nil
}

// holdFile is locked, shared, by every process that needs ref now. A process
// that dies lets go by it. The file stays: it is empty, and removing it while
// another process opens it would give two of them different locks.
func (l *Ledger) holdFile(ref string) *flock.Flock {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(nameOf(ref))))[:32]
	return flock.New(filepath.Join(l.dir, "holds", name), flock.SetPermissions(0o644))
}

// hold keeps every process from evicting ref until the lock is closed. It
// waits for one that is evicting it at this moment.
func (l *Ledger) hold(ctx context.Context, ref string) (*flock.Flock, error) {
	lock := l.holdFile(ref)
	if _, err := lock.TryRLockContext(ctx, lockPoll); err != nil {
		_ = lock.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.Host, "holding image "+ref, err)
	}
	return lock, nil
}

// claim keeps others from holding ref until the lock is closed; nil when
// someone holds it.
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
