package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/printable"
	"batch.example/batch/sandbox"
)

// cleaned is what `batch clean --json` says of one container.
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
}

func (a *app) cleanCommand() *cobra.Command {
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove the containers that dead runs left",
		Long: `Remove the containers of runs that were killed, running or not, and the network
and the volumes that containers share when none is left that may use them.
Containers of living runs stay, and so do those of other machines and of other
containers' runs until they have ended by themselves, and their time is over for
a minute. Every run does the same at its start.

  batch clean --dry-run
  batch clean --json | jq -r .instance

Exit codes: 0 nothing of a dead run is left, 1 something could not be removed or
the engine cannot be reached, 2 usage.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.clean(c.Context(), dryRun, asJSON) },
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed, and stop")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line for each container, nothing else")
	return c
}

func (a *app) clean(ctx context.Context, dryRun, asJSON bool) error {
	found, err := sandbox.Clean(ctx, docker.FromEnv(a.getenv, a.home), dryRun)
	if found == nil {
		return err
	}
	if asJSON {
		return errors.Join(err, a.cleanJSON(found.Strays, !dryRun))
	}
	return errors.Join(err, a.cleanTable(found.Strays, found.Kept, found.Shared, dryRun))
}

func (a *app) cleanJSON(strays []containers.Stray, removed bool) error {
	out := json.NewEncoder(a.stdout)
	for _, s := range strays {
		row := cleaned{
			Container: s.ID, Name: s.Name, Image: s.Image, Run: s.Run, Instance: s.Instance, Attempt: s.Attempt,
			Host: s.Host, State: s.State, Created: s.Created.UTC(), Removed: removed,
		}
		if !s.Expires.IsZero() {
			row.Expires = &s.Expires
		}
		if err := out.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) cleanTable(strays []containers.Stray, kept int, shared, dryRun bool) error {
	if len(strays) > 0 {
		t := printable.NewTable(a.stdout)
		t.Row("CONTAINER", "RUN", "INSTANCE", "ATTEMPT", "HOST", "STATE", "CREATED")
		for _, s := range strays {
			t.Row(fmt.Sprintf("%.12s", s.ID), cmp.Or(s.Run, "-"), cmp.Or(s.Instance, "-"), cmp.Or(s.Attempt, "-"), cmp.Or(s.Host, "-"),
				s.State, strings.ToLower(units.HumanDuration(time.Since(s.Created)))+" ago")
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
	}
	verb := "removed"
	if dryRun {
		verb = "would remove"
	}
	text := fmt.Sprintf("%s %d containers of dead runs", verb, len(strays))
	if shared {
		text += " and what they shared"
	}
	_, err := fmt.Fprintf(a.stdout, "%s; %d of other runs stay\n", text, kept)
	return err
}
