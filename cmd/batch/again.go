package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/manifest"
)

// runFromManifest returns the flags of the last `batch run` into dir, as its
// manifest tells them, with those on top that were given in own, which
// [runFlags.addPace] defined. The paths among them are as that run meant them,
// for which the process moves to the folder that it was started in.
func runFromManifest(dir string, own *pflag.FlagSet) (runFlags, error) {
	var f runFlags
	m, err := readManifest(dir)
	if err != nil {
		return f, err
	}
	start := slices.Index(m.Argv, "run")
	if start < 0 {
		return f, fault.Newf(fault.Usage, "%s: its manifest does not tell the command that made it", dir).
			WithHint("give that `batch run` again, with -o %s", dir)
	}
	if i := slices.IndexFunc(m.Argv, func(arg string) bool { return strings.Contains(arg, mask.Hidden) }); i >= 0 {
		return f, fault.Newf(fault.Usage, "%s: the command that made it held a secret (%s), which is not kept", dir, m.Argv[i]).
			WithHint("give that `batch run` again, with -o %s", dir)
	}
	c := &cobra.Command{}
	f.add(c)
	if err := c.ParseFlags(m.Argv[start+1:]); err != nil {
		return f, fault.New(fault.Usage, "reading the command in "+dir+"'s manifest", err).
			WithHint("another version of batch wrote it: give that `batch run` again, with -o %s", dir)
	}
	if f.output, err = filepath.Abs(dir); err != nil {
		return f, fault.New(fault.Host, "finding the working directory", err)
	}
	f.argv = m.Argv
	if f.instances != "" { // the file may be another by now, or was standard input
		f.ids = m.Dataset.Instances
	}
	// What these said has been done, and must not be done again.
	f.redo, f.accept = false, nil
	f.quiet, f.json, f.inject = false, false, ""
	overlay(c.Flags(), own)
	return f, moveTo(m.Dir)
}

// readManifest reads the manifest of a directory that somebody named.
func readManifest(dir string) (*manifest.Manifest, error) {
	m, err := manifest.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Newf(fault.Usage, "%s is no run directory: it has no manifest.json", dir).
			WithHint("name the directory that `batch run -o` wrote into")
	}
	return m, err
}

// overlay sets the flags that a person gave in own, as they are there.
func overlay(to, own *pflag.FlagSet) {
	own.Visit(func(given *pflag.Flag) {
		target := to.Lookup(given.Name)
		if target == nil {
			return // a flag of the command's own
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			_ = target.Value.(pflag.SliceValue).Replace(list.GetSlice()) // it was read once already
			return
		}
		_ = target.Value.Set(given.Value.String())
	})
}

// moveTo changes the working directory, on which a command's paths depend.
func moveTo(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		return fault.New(fault.Usage, "going to where the run was started", err).
			WithHint("give the same `batch run` again from where its files are now, with -o")
	}
	return nil
}
