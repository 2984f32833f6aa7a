package sweeps

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results"
)

// ledgerFile is the file in the sweep's folder through which processes that work in different
// cells share the cost limit. The costs of cells without a process come from their journals.
const ledgerFile = ".batch.ledger"

type ledger struct {
	Working []*working         `json:"working"`
	Ended   map[string]float64 `json:"ended"`             // US dollars of the other cells, by folder
	Highest float64            `json:"highest,omitempty"` // US dollars of the most expensive call; 0: unknown
}

// working is a process that works in cells, and holds their locks as long as it lives.
type working struct {
	Cells    []string `json:"cells"`    // folders
	Spent    float64  `json:"spent"`    // US dollars of these cells
	Reserved float64  `json:"reserved"` // for calls that are under way
}

// Share is a process's part in the cost limit of a sweep. It is not safe for concurrent use.
type Share struct {
	dir   string
	cells []string
	lock  *flock.Flock
}

// OpenShare enters this process, which has locked cells of the sweep in dir, with the cells'
// costs so far. The caller must Close the share before it unlocks the cells.
func OpenShare(dir string, cells []string, spent float64) (*Share, error) {
	x, err := Read(dir)
	if err != nil {
		return nil, err
	}
	s := &Share{dir: dir, cells: cells, lock: flock.New(filepath.Join(dir, ledgerFile), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))}
	return s, s.change(true, func(l *ledger) error {
		l.Working = slices.DeleteFunc(l.Working, s.is)
		if err := s.forgetDead(l); err != nil {
			return err
		}
		l.Ended = map[string]float64{}
		for _, c := range x.Cells {
			if s.has(c.Folder) || slices.ContainsFunc(l.Working, func(w *working) bool { return slices.Contains(w.Cells, c.Folder) }) {
				continue
			}
			snap, err := ReadCell(filepath.Join(dir, c.Folder))
			if err != nil {
				return err
			}
			if snap != nil {
				l.Ended[c.Folder] = snap.Spent
			}
		}
		l.Working = append(l.Working, &working{Cells: cells, Spent: spent})
		return nil
	})
}

// forgetDead removes the processes that have ended without Close.
func (s *Share) forgetDead(l *ledger) error {
	var alive []*working
	for _, w := range l.Working {
		lives, err := s.lives(w)
		if err != nil {
			return err
		}
		if lives {
			alive = append(alive, w)
		}
	}
	l.Working = alive
	return nil
}

// lives reports whether a process has not ended. It tests the locks, because a process id may
// belong to another machine, or to another process by now.
func (s *Share) lives(w *working) (bool, error) {
	for _, c := range w.Cells {
		if used, err := results.InUse(filepath.Join(s.dir, c)); used || err != nil {
			return used, err
		}
	}
	return false, nil
}

func (s *Share) has(cell string) bool { return slices.Contains(s.cells, cell) }

// is reports whether w is the share's own entry, or one of an earlier process in its cells.
func (s *Share) is(w *working) bool { return slices.ContainsFunc(w.Cells, s.has) }

// Update calls decide with the US dollars that all other cells have spent, that other processes
// have reserved, and that the most expensive call of any cell cost (0: unknown). It enters the
// figures that decide returns for this process. No other process decides meanwhile. The
// reservations of a dead process count as spent.
func (s *Share) Update(decide func(spent, reserved, highest float64) (ownSpent, ownReserved, ownHighest float64)) error {
	return s.change(false, func(l *ledger) error {
		own, spent, reserved, err := s.others(l)
		if err != nil {
			return err
		}
		if own == nil {
			return fault.Newf(fault.Host, "%s has no entry of this run", s.lock.Path()).WithHint("run again: it is made again")
		}
		var highest float64
		own.Spent, own.Reserved, highest = decide(spent, reserved, l.Highest)
		l.Highest = max(l.Highest, highest)
		return nil
	})
}

// others returns the share's own entry, and the sums of all others.
func (s *Share) others(l *ledger) (own *working, spent, reserved float64, err error) {
	for _, w := range l.Working {
		if s.is(w) {
			own = w
			continue
		}
		lives, err := s.lives(w)
		if err != nil {
			return nil, 0, 0, err
		}
		spent += w.Spent
		if lives {
			reserved += w.Reserved
		} else {
			spent += w.Reserved
		}
	}
	for _, dollars := range l.Ended {
		spent += dollars
	}
	return own, spent, reserved, nil
}

// Close enters that the process no longer works in its cells.
func (s *Share) Close() error {
	err := s.change(false, func(l *ledger) error {
		i := slices.IndexFunc(l.Working, s.is)
		if i >= 0 {
			own := l.Working[i]
			l.Working = slices.Delete(l.Working, i, i+1)
			l.Ended[s.cells[0]] = own.Spent + own.Reserved
		}
		return nil
	})
	return errors.Join(err, s.lock.Close())
}

// change changes the ledger while no other process does. An unreadable ledger is made again
// with create; otherwise it is an error.
func (s *Share) change(create bool, change func(*ledger) error) (err error) {
	if err := s.lock.Lock(); err != nil {
		return atomicfile.Fault("locking the ledger of the sweep", err)
	}
	defer func() { err = errors.Join(err, s.lock.Unlock()) }()
	text, err := regular.ReadFile(s.lock.Path())
	if err != nil {
		return atomicfile.Fault("reading the ledger of the sweep", err)
	}
	var l ledger
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&l); err != nil && !create { // a longer text may have been there before
		return fault.New(fault.Host, "reading "+s.lock.Path(), err).WithHint("run again: it is made again")
	}
	if l.Ended == nil {
		l.Ended = map[string]float64{}
	}
	if err := change(&l); err != nil {
		return err
	}
	return atomicfile.Fault("writing the ledger of the sweep", l.write(s.lock.Path()))
}

// write replaces the text of a file. The file always contains a ledger meanwhile.
func (l *ledger) write(path string) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := regular.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(text, 0); err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}
