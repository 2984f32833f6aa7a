package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/scores"
	"batch.example/batch/view"
	"batch.example/batch/view/report"
)

func (a *app) reportCommand() *cobra.Command {
	var output string
	var noAudit, asJSON bool
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write a page that compares runs, for a browser",
		Long: `Write one HTML file that compares run directories and sweeps: rates with their
intervals, where the runs differ, cost, time, repositories, who is left out and
why, what ` + "`batch audit`" + ` finds, and a table of all instances to sort and filter.
It is a page of ` + "`batch view`" + ` that needs no network and no other file; its links
lead to the trajectories, by relative paths from FILE. What the audit finds in
an attempt is kept for 30 days in the state directory (~/.local/state/batch),
for the next report of the same files.

  batch report runs/gpt-5 runs/sonnet -o report.html
  batch report before=runs/1 after=runs/2
  batch report sweeps/limits -o sweeps/limits/report.html

DIR is as for batch compare. The file is replaced as a whole. A file that
is not a report of batch is never replaced.

Exit codes: 0 written, 1 it could not be written, 2 usage.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.report(c.Context(), args, output, !noAudit, asJSON)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "report.html", "write the page to `FILE`")
	c.Flags().BoolVar(&noAudit, "no-audit", false, "do not read the trajectories for the section of findings")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was written as one JSON object")
	return c
}

// report writes the page of what dirs name into file.
func (a *app) report(ctx context.Context, dirs []string, file string, audits, asJSON bool) error {
	if err := mayReplace(file); err != nil {
		return err
	}
	entries, err := scores.Options{}.ReadAll(dirs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		a.hideOfEntry(e)
	}
	here, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return fault.New(fault.Host, "finding the current folder", err)
	}
	d := report.Data{Entries: entries, Link: report.LinksFrom(here), Hide: a.mask.Text}
	if audits {
		if d.Audit, err = a.auditEntries(ctx, entries); err != nil {
			return err
		}
	}
	page := report.New(d)
	text, err := view.Report(page)
	if err != nil {
		return err
	}
	if err = (atomicfile.Files{}).Write(file, 0o644, atomicfile.Bytes(text)); err != nil {
		return atomicfile.Fault("writing "+file, err)
	}
	if asJSON {
		return a.printJSON(map[string]any{"file": file, "runs": len(entries), "instances": page.Instances, "bytes": len(text)})
	}
	fmt.Fprintf(a.stdout, "%s: %s of %s, %s\n", printable.Line(file), printable.Count(len(entries), "run", "runs"),
		printable.Count(page.Instances, "instance", "instances"), units.HumanSize(float64(len(text))))
	return nil
}

// mayReplace refuses a file that is there and is not a report.
func mayReplace(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(file)); errors.Is(err, fs.ErrNotExist) {
			return fault.Newf(fault.Usage, "-o %s: there is no folder %s", file, filepath.Dir(file)).WithHint("make it, or name another file")
		}
		return nil
	case err != nil:
		return fault.New(fault.Usage, "looking at what would be replaced", err).WithHint("name another file with -o")
	case info.IsDir():
		return fault.Newf(fault.Usage, "-o %s is a folder", file).WithHint("name a file: -o %s", filepath.Join(file, "report.html"))
	case info.Mode().IsRegular() && isReport(file):
		return nil
	}
	return fault.Newf(fault.Usage, "%s is not a report of batch, and is not replaced", file).WithHint("name another file with -o, or remove it")
}

func isReport(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1024))
	return err == nil && view.IsReport(head)
}
