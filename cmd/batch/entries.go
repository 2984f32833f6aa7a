package main

import (
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results/scores"
)

// entriesOf returns the entries of a sweep's folder, or one entry that has several run
// directories as its attempts. Only is an entry's name in a sweep, or empty.
func entriesOf(paths []string, only string) ([]scores.Side, error) {
	var list []scores.Side
	for i, path := range paths {
		if slices.ContainsFunc(paths[:i], func(before string) bool { return same(before, path) }) {
			return nil, fault.Newf(fault.Usage, "%s is named twice: an attempt counts once", path)
		}
		read, err := scores.Read(path)
		if err != nil {
			return nil, err
		}
		if only == "" && len(paths) > 1 && len(read) != 1 {
			return nil, fault.Newf(fault.Usage, "%s has %d entries: expected one, with some of its attempts", path, len(read)).
				WithHint("name one with --entry, or the run directories of its attempts")
		}
		list = append(list, read...)
	}
	if only != "" {
		return named(list, only)
	}
	if len(paths) == 1 {
		return list, nil
	}
	one := scores.Side{Name: list[0].Name, Model: list[0].Model}
	for i, e := range list {
		if i > 0 && len(e.Runs) > 0 {
			one.Name += ", " + e.Name
		}
		if e.Model != one.Model {
			one.Model = ""
		}
		one.Runs = append(one.Runs, e.Runs...)
	}
	return []scores.Side{one}, nil
}

// entryOf returns the only entry to select from.
func entryOf(paths []string, only string) (scores.Side, error) {
	list, err := entriesOf(paths, only)
	if err != nil {
		return scores.Side{}, err
	}
	if len(list) == 0 {
		return scores.Side{}, fault.Newf(fault.Usage, "%s has no entries", paths[0])
	}
	if len(list) > 1 {
		return scores.Side{}, fault.Newf(fault.Usage, "%s has %d entries: which one?", paths[0], len(list)).
			WithHint("name it with --entry: %s", entryNames(list))
	}
	return list[0], nil
}

// named returns the entries with a name, as one.
func named(list []scores.Side, name string) ([]scores.Side, error) {
	var one scores.Side
	for _, e := range list {
		if e.Name == name {
			one.Name, one.Model = e.Name, e.Model
			one.Runs = append(one.Runs, e.Runs...)
		}
	}
	if one.Name == "" {
		return nil, fault.Newf(fault.Usage, "--entry %q: there is no such entry", name).
			WithHint("there are %s", entryNames(list))
	}
	return []scores.Side{one}, nil
}

// hideOfEntry hides what the runs of its attempts were asked to hide.
func (a *app) hideOfEntry(e scores.Side) {
	for _, attempt := range e.Runs {
		if attempt.Snapshot != nil {
			a.hideOfRun(attempt.Snapshot.Manifest)
		}
	}
}

func entryNames(list []scores.Side) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name
	}
	return strings.Join(names, ", ")
}
