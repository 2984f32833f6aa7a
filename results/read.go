package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Snapshot is a run directory as it stood while [Read] read it.
type Snapshot struct {
	Dir      string
	Manifest *manifest.Manifest // nil when there is none that can be read
	Records  []Record           // as of Store.Records; a running attempt's status is "Running"
	Spent    float64            // as of Store.Spent
	Notes    []string           // what is broken, or left over from a crash, in words

	// Owner is who works in the directory, as the lock's owner wrote it, and
	// "" when nobody does. Of an owner on another machine it is not known
	// whether it still lives: it is taken to.
	Owner string
}

// Read reads the run directory dir. It takes no lock, changes nothing and
// waits for nobody, so it may be used while a run works there: then each
// instance is told as it is in its journal at some instant of the reading.
// A directory that is none of a run is a Usage fault.
func Read(dir string) (*Snapshot, error) {
	s := &Store{dir: filepath.Clean(dir), reading: true, instances: map[string]*instance{}}
	owner, err := os.ReadFile(filepath.Join(s.dir, lockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readFault(dir, err)
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(owner)), "\n")
	snap := &Snapshot{Dir: s.dir, Owner: name}
	if snap.Owner != "" && isDead(snap.Owner) {
		s.tell("the run of %s ended without closing the directory", snap.Owner)
		snap.Owner = ""
	}
	if snap.Manifest, err = manifest.Read(s.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.tell("%v", err)
	}
	if _, err := s.recover(); err != nil {
		return nil, readFault(dir, err)
	}
	snap.Records, snap.Spent, snap.Notes = s.Records(), s.Spent(), s.recovered
	if snap.Manifest == nil && len(snap.Records) == 0 {
		return nil, fault.Newf(fault.Usage, "%s is no run directory: no manifest and no result is in it", dir).
			WithHint("name the directory that `batch run -o` wrote into")
	}
	if snap.Owner != "" {
		snap.markRunning(s)
	}
	return snap, nil
}

// markRunning tells the attempts of a living owner from those of a dead one.
func (snap *Snapshot) markRunning(s *Store) {
	for i := range snap.Records {
		r := &snap.Records[i]
		if in := s.instances[r.InstanceID]; in != nil && in.state.brokenOff() && r.Attempt == in.number {
			r.Status = vocab.StatusRunning
		}
	}
}

// Asked returns the ids of the instances that were asked for, by the manifest,
// and of all that have a record, sorted.
func (snap *Snapshot) Asked() []string {
	var ids []string
	if snap.Manifest != nil {
		ids = slices.Clone(snap.Manifest.Dataset.Instances)
	}
	for _, r := range snap.Records {
		ids = append(ids, r.InstanceID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// isDead reports whether the owner, named as [DefaultOwner] does, was a
// process of this machine that is gone.
func isDead(owner string) bool {
	name, rest, _ := strings.Cut(strings.TrimPrefix(owner, "host "), ", pid ")
	host, err := os.Hostname()
	pid := 0
	if _, scanErr := fmt.Sscanf(rest, "%d", &pid); err != nil || scanErr != nil || name != host || pid <= 0 {
		return false
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// readFault blames whoever named a directory that is not there.
func readFault(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.Usage, "reading "+dir, err).WithHint("name the directory that `batch run -o` wrote into")
	}
	return err
}
