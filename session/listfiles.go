package session

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/journal"
)

// ListFiles returns the states of the sessions in a directory of [OpenFiles], the last
// active first; none if the directory is missing. It takes no locks. A session that is open
// has the state that it would have if its process ended now. Those that cannot be read are
// left out, and the error says why, beside the others' states.
func ListFiles(dir string) (list []State, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Fault("listing the sessions", err)
	}
	var damaged []error
	for _, e := range entries {
		if !e.IsDir() || CheckID(e.Name()) != nil {
			continue
		}
		s, err := stateIn(filepath.Join(dir, e.Name(), journalName), e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist): // there is no session in it
		case err != nil:
			damaged = append(damaged, fault.New(fault.KindOf(err), "session "+e.Name(), err))
		default:
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b State) int {
		return cmp.Or(b.LastActivity.Compare(a.LastActivity), strings.Compare(a.ContextID, b.ContextID))
	})
	return list, errors.Join(damaged...)
}

// stateIn returns the state of the session whose journal is at path.
func stateIn(path, id string) (State, error) {
	h, err := journal.ReadHistory(path)
	if err == nil && (h.Session != nil || len(h.Turns) > 0) {
		return StateOf(id, h), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return State{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return State{}, err
	}
	return State{ContextID: id, Status: Created, Created: info.ModTime(), LastActivity: info.ModTime()}, nil
}
