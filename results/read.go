package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Snapshot is a run directory as it stood while [Read] read it.
type Snapshot struct {
	Dir      string
	Manifest *manifest.Manifest // nil if none can be read
	Records  []Record           // as of Reader.Records; a running attempt's status is "Running"
	Spent    float64            // as of Reader.Spent
	Notes    []string           // descriptions of damage and of leftovers of a crash

	// Patches has the digests (SHA-256) of the predicted patches by instance id; an empty
	// patch has an empty digest. Equal digests mean equal bytes.
	Patches map[string]string

	// GradingBegan says that there is a grades.jsonl, with or without a grade.
	GradingBegan bool

	// Owner is the name in the lock of the run that works in the directory; "" if there is
	// none. A run on another machine counts as running.
	Owner string

	unreadable []string // instances with an unreadable journal
}

// Read reads the run directory dir. It changes nothing and does not wait, so
// it may be used while a run works there: then it reads the current state of each
// instance's journal. It also reads another tool's directory with a preds.json. A directory
// with neither a manifest nor a result is a Usage fault.
func Read(dir string) (*Snapshot, error) {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, NotARun(dir, "it does not exist")
	} else if err == nil && !info.IsDir() {
		return nil, NotARun(dir, "it is a file")
	}
	rd := newReader(filepath.Clean(dir))
	rd.damaged = func(note string) { rd.tell("%s", note) }
	owner, err := regular.ReadFile(filepath.Join(rd.dir, lockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Host, "reading the run directory", err).WithHint("make it readable for this user")
	}
	snap := &Snapshot{Dir: rd.dir, Owner: ownerIn(owner)}
	if rd.isDead(snap.Owner) {
		rd.tellDead(snap.Owner)
		snap.Owner = ""
	}
	if snap.Manifest, err = manifest.Read(rd.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		rd.tell("%v", err)
	}
	if err := rd.readLeniently(snap); err != nil {
		return nil, err
	}
	snap.Records, snap.Spent, snap.Patches = rd.Records(), rd.Spent(), rd.patchDigests()
	snap.Notes = rd.recovered
	if mixed := MixedIn(snap).Note(); mixed != "" {
		snap.Notes = append(snap.Notes, mixed)
	}
	if snap.Manifest == nil && len(snap.Records) == 0 {
		return nil, NotARun(dir, "it has neither a manifest.json nor a result")
	}
	_, err = os.Stat(grades.Path(rd.dir))
	snap.GradingBegan = err == nil
	if snap.Owner != "" {
		snap.markRunning(rd)
	}
	return snap, nil
}

// readLeniently reads everything that can be read, and reports the rest.
func (rd *Reader) readLeniently(snap *Snapshot) error {
	return rd.loadOnly(reading{
		predictions: func(about swebench.About, err error) error {
			if err != nil {
				rd.tell("%s, up to there, %s counted: %v", predsFile,
					printable.Count(len(rd.preds.entries), "prediction is", "predictions are"), err)
			} else if form := lostForm(about); form != "" {
				rd.tell("%s %s", predsFile, form)
			}
			return nil
		},
		journal: rd.journalEnd,
		unreadable: func(id string, err error) {
			snap.unreadable = append(snap.unreadable, id)
			counted := "it is counted as not run"
			if rd.preds.get(id) != nil {
				counted = "its prediction in preds.json is counted"
			}
			rd.tell("%s: its journal cannot be read; %s: %v", id, counted, err)
		},
	})
}

// Look reads a directory and refuses it in the same cases as [Open], but takes no lock and
// changes nothing. A directory that does not exist is empty.
func Look(dir string) (*Reader, error) {
	rd := newReader(filepath.Clean(dir))
	exists, err := checkDir(rd.dir)
	if err != nil || !exists {
		return rd, dirFault(err)
	}
	if err := checkLockFile(rd.dir); err != nil {
		return nil, atomicfile.Fault("locking the output directory", err)
	}
	dead, err := probeLock(rd.dir)
	if err != nil {
		return nil, err
	}
	rd.tellDead(dead)
	return rd, rd.loadOnly(reading{
		predictions: func(about swebench.About, err error) error {
			if form := lostForm(about); err == nil && form != "" {
				rd.tell("%s %s: the next run writes it in its own form and keeps the original", predsFile, form)
			}
			return err
		},
		journal: rd.lookAt,
	})
}

// loadOnly reads the directory, and leaves repairs to the next run.
func (rd *Reader) loadOnly(how reading) error {
	entries, err := rd.entries()
	if err != nil {
		return err
	}
	_, restored, err := rd.load(entries, how)
	if restored > 0 {
		rd.tell("%s: %s will be put back from the journals by the next run", predsFile, missing(restored))
	}
	return err
}

// lookAt finds the end of a journal, and refuses a folder that [Open] could not clean up.
func (rd *Reader) lookAt(id string) (journal.Tail, error) {
	names, err := namesIn(rd.path(id, ""))
	if err == nil && slices.Contains(names, attemptsDir) {
		_, err = namesIn(rd.path(id, attemptsDir))
	}
	if err != nil || !slices.Contains(names, journalFile) {
		return journal.Tail{}, err
	}
	return rd.journalEnd(id)
}

// checkDir reports whether a directory exists. It returns the error that making the
// directory would return.
func checkDir(dir string) (exists bool, err error) {
	missing := ""
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path):
			missing = path
		case errors.Is(err, syscall.ENOTDIR): // one of its parents is a file
		case err != nil:
			return false, err
		case !info.IsDir():
			return false, &os.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		case missing == "":
			return true, nil
		default:
			return false, cannotWrite("mkdir", missing, path)
		}
	}
}

// checkLockFile returns the error that opening the lock for writing would return.
func checkLockFile(dir string) error {
	path := filepath.Join(dir, lockFile)
	if _, err := os.Stat(path); err == nil {
		return cannotWrite("open", path, path)
	}
	return cannotWrite("open", path, dir)
}

// cannotWrite returns an error of op on path if target may not be written to.
func cannotWrite(op, path, target string) error {
	if err := unix.Access(target, unix.W_OK); err != nil {
		return &os.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// markRunning sets the status of the open attempts of a running run.
func (snap *Snapshot) markRunning(rd *Reader) {
	for i := range snap.Records {
		r := &snap.Records[i]
		if in := rd.instances[r.InstanceID]; in != nil && in.state.brokenOff() && r.Attempt == in.number {
			r.Status = vocab.StatusRunning
		}
	}
}

// Asked returns the ids of the manifest's instances, and of all instances with a record or
// an unreadable journal, sorted.
func (snap *Snapshot) Asked() []string {
	ids := slices.Clone(snap.unreadable)
	if snap.Manifest != nil {
		ids = append(ids, snap.Manifest.Dataset.Instances...)
	}
	for _, r := range snap.Records {
		ids = append(ids, r.InstanceID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// isDead reports whether the owner, a name by [DefaultOwner], was a process of this machine
// that has ended. The system drops its lock then; its process id may be another process's.
func (rd *Reader) isDead(owner string) bool {
	name, _, _, ok := parseOwner(owner)
	host, err := os.Hostname()
	if !ok || err != nil || name != host {
		return false
	}
	busy, err := InUse(rd.dir)
	return err == nil && !busy
}

// NotARun returns a Usage fault for a path that is not a run directory; why gives the
// reason. Its hint names the run directories in it.
func NotARun(dir, why string) error {
	f := fault.Newf(fault.Usage, "%s is not a run directory: %s", dir, why)
	if inside, _ := filepath.Glob(filepath.Join(dir, "*", manifest.File)); len(inside) > 0 {
		for i, path := range inside {
			inside[i] = filepath.Dir(path)
		}
		return f.WithHint("did you mean %s?", strings.Join(inside[:min(3, len(inside))], ", "))
	}
	return f.WithHint("name the directory that `batch run -o` wrote into")
}
