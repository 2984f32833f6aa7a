package results

import (
	"os"

	"golang.org/x/sync/errgroup"
)

// writeInterrupted gives the attempts that broke off, and were not gone on
// with, the trajectory that their journal tells. The journal has it all: one
// that cannot be written is only told.
func (s *Store) writeInterrupted() {
	s.mu.Lock()
	var records []Record
	for _, in := range s.instances {
		if in.live {
			records = append(records, in.past[len(in.past)-1].Record)
		}
	}
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(8) // they wait for the disk
	for _, r := range records {
		group.Go(func() error {
			if err := s.deriveTrajectory(r); err != nil {
				s.log.Load().Warn("writing the trajectory of an interrupted attempt", "instance", r.InstanceID, "err", err)
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// deriveTrajectory writes the trajectory of an attempt that broke off, unless
// there is one that is younger than the journal.
func (s *Store) deriveTrajectory(r Record) error {
	path := s.path(r.InstanceID, r.InstanceID+".traj.json")
	written, err := os.Stat(s.path(r.InstanceID, journalFile))
	if err != nil {
		return err
	}
	if there, err := os.Stat(path); err == nil && there.ModTime().After(written.ModTime()) {
		return nil
	}
	return s.writeTrajectory(&Result{Record: r})
}
