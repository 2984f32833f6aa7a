package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/run/rundir"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
)

// cleaned is one line of `batch clean --json`: a container.
type cleaned struct {
	Container string     `json:"container"`
	Name      string     `json:"name"`
	Image     string     `json:"image"`
	Run       string     `json:"run"`
	Instance  string     `json:"instance"`
	Attempt   string     `json:"attempt"`
	Host      string     `json:"host"`
	State     string     `json:"state"`
	Created   time.Time  `json:"created"`
	Expires   *time.Time `json:"expires,omitempty"`
	Removed   bool       `json:"removed"`
	Engine    string     `json:"engine,omitempty"` // its address, if there are several
}

func (a *app) cleanCommand() *cobra.Command {
	var dryRun, asJSON bool
	var named []string
	c := &cobra.Command{
		Use:   "clean [DIR...]",
		Short: "Remove the containers of crashed runs",
		Long: `Remove the containers that crashed and killed runs left on the Docker engine.
The network and the volumes that containers of batch share are removed too, each
once no container uses it. Without DIR, so is what scrubs of git histories found
out, which later runs would use. Every batch run removes such containers when it
starts. With DIR, a run directory or the folder of a sweep, only its containers
are removed; what was running in them is then replayed in new ones when the run
is resumed.

Containers of running runs stay. If a run was in another container, or before a
restart of this machine, the lock in its directory says whether it has ended.
If the directory is not here, or the run was on another machine, its containers
are removed one minute after they have stopped and their time limit has passed.
The same command in the same directory takes them over, or removes them.

  batch clean --dry-run
  batch clean --json | jq -r .instance

Exit codes: 0 no container of a crashed run is left (with --dry-run: the list is
complete), 1 something could not be removed or the engine cannot be reached,
2 usage.`,
		RunE: func(c *cobra.Command, dirs []string) error {
			leases, err := leasesOf(dirs)
			if err != nil {
				return err
			}
			return a.clean(c.Context(), named, leases, dryRun, asJSON)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be removed, remove nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line and container, and no text")
	addEngine(c.Flags(), &named)
	return c
}

// leasesOf returns the leases of the containers of run directories and of sweeps.
func leasesOf(dirs []string) (leases []string, err error) {
	for _, dir := range dirs {
		list := []string{dir}
		if sweeps.Is(dir) {
			x, err := sweeps.Read(dir)
			if err != nil {
				return nil, err
			}
			if list = x.Dirs(dir); len(list) == 0 {
				return nil, fault.Newf(fault.Usage, "%s: its index has no cells", dir)
			}
		} else if _, err := run.ReadManifest(dir); err != nil {
			return nil, err
		}
		for _, one := range list {
			leases = append(leases, rundir.Lease(one))
		}
	}
	return leases, nil
}

func (a *app) clean(ctx context.Context, named, leases []string, dryRun, asJSON bool) error {
	return a.eachStock(ctx, named, engine.Options{}, func(at stock) error {
		found, err := at.Clean(ctx, leases, dryRun)
		if found == nil {
			return err
		}
		if asJSON {
			return errors.Join(err, a.cleanJSON(found.Abandoned, at.address, !dryRun))
		}
		return errors.Join(err, a.cleanTable(found, at, len(leases) > 0, dryRun))
	})
}

func (a *app) cleanJSON(strays []engine.Owned, address string, removed bool) error {
	each := a.jsonLines()
	for _, s := range strays {
		row := cleaned{
			Container: s.ID, Name: s.Name, Image: s.Image, Run: s.Run, Instance: s.Instance, Attempt: s.Attempt,
			Host: s.Host, State: s.State, Created: s.Created.UTC(), Removed: removed, Engine: address,
		}
		if !s.Expires.IsZero() {
			row.Expires = &s.Expires
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) cleanTable(found *sandbox.Cleaned, at stock, some, dryRun bool) error {
	if strays := found.Abandoned; len(strays) > 0 {
		var t printable.Table
		t.Row("CONTAINER", "INSTANCE", "ATTEMPT", "HOST", "STATE", "CREATED")
		for _, s := range strays {
			t.Row(fmt.Sprintf("%.12s", s.ID), cmp.Or(s.Instance, "-"), cmp.Or(s.Attempt, "-"), cmp.Or(s.Host, "-"),
				s.State, strings.ToLower(units.HumanDuration(time.Since(s.Created)))+" ago")
		}
		if err := t.Write(a.stdout); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
	}
	_, err := fmt.Fprintln(a.stdout, at.name(cleanSentence(found, some, dryRun)))
	return err
}

// cleanSentence is "2 containers removed; 1 belongs to a running run". Some means that only
// the containers of some runs were to be removed.
func cleanSentence(found *sandbox.Cleaned, some, dryRun bool) string {
	verb := " removed"
	if dryRun {
		verb = " to remove"
	}
	text := printable.Count(len(found.Abandoned), "container", "containers") + verb
	if found.Shared {
		text += ", and what they shared and nothing uses now"
	}
	if found.Outcomes > 0 {
		text += fmt.Sprintf("; the outcomes of scrubs (%s)", units.HumanSize(float64(found.Outcomes))) + verb
	}
	runs, unseen := [2]string{"a running run", "running runs"}, found.Unseen
	if some {
		runs, unseen = [2]string{"another run", "other runs"}, 0
	}
	text += belong(found.Kept-unseen, runs[0], runs[1])
	return text + belong(unseen, "a run that cannot be seen from here and may have ended", "runs that cannot be seen from here and may have ended")
}

// belong is "; 2 belong to other runs"; empty for none.
func belong(n int, owner, owners string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 belongs to " + owner
	}
	return fmt.Sprintf("; %d belong to %s", n, owners)
}
