package logparse

import (
	"errors"
	"fmt"
	"strings"

	"batch.example/batch/internal/python"
)

// prismJS reads the JSON that mocha prints after each command in the log.
func prismJS(log string, _ input, out *results) error {
	const command = "./node_modules/.bin/mocha tests/run.js --reporter json"
	_, log, found := strings.Cut(log, command)
	if !found {
		return nil
	}
	for run := range strings.SplitSeq(log, command) {
		if _, after, ok := strings.Cut(run, "{"); ok {
			run = after
		}
		if err := prismReport("{"+beforeLast(run, "}")+"}", out); err != nil {
			return fmt.Errorf("the JSON report: %w", err)
		}
	}
	return nil
}

func prismReport(text string, out *results) error {
	l := python.NewLoader(text)
	members := map[string]prismList{}
	err := l.Object(func(key string) (err error) {
		if key == "failures" || key == "passes" {
			members[key], err = readPrismList(l)
			return err
		}
		_, err = l.Value()
		return err
	})
	if err == nil {
		err = l.End()
	}
	if err != nil {
		return err
	}
	for _, list := range []struct{ member, status string }{{"failures", Failed}, {"passes", Passed}} {
		tests, ok := members[list.member]
		if !ok {
			return fmt.Errorf("it has no member %q", list.member)
		}
		if tests.problem != nil {
			return fmt.Errorf("member %q: %w", list.member, tests.problem)
		}
		for _, title := range tests.titles {
			out.set(title, list.status)
		}
	}
	return nil
}

// prismList is a list of tests. A problem counts only at the end: if the member occurs again, the
// later one counts.
type prismList struct {
	titles  []string
	problem error
}

var errPrismList = errors.New("it is not a list")

// readPrismList reads a list of tests. The reference takes an empty object and an empty
// string for an empty list.
func readPrismList(l *python.Loader) (list prismList, err error) {
	switch l.Next() {
	case '[':
		err = l.List(func() error {
			title, problem, err := readPrismTest(l)
			if problem != nil {
				list.problem = problem
			}
			list.titles = append(list.titles, title)
			return err
		})
	case '{':
		err = l.Object(func(string) error {
			list.problem = errPrismList
			_, err := l.Value()
			return err
		})
	default:
		var text string
		if text, err = l.Value(); text != `""` {
			list.problem = errPrismList
		}
	}
	return list, err
}

func readPrismTest(l *python.Loader) (title string, problem, err error) {
	if l.Next() != '{' {
		_, err := l.Value()
		return "", errors.New("a test is not an object"), err
	}
	problem = errors.New(`a test has no "fullTitle"`)
	err = l.Object(func(key string) (err error) {
		if key != "fullTitle" {
			_, err = l.Value()
			return err
		}
		problem = nil
		switch l.Next() {
		case '"':
			title, err = l.Text()
			return err
		case '{', '[':
			problem = errors.New(`a "fullTitle" is not a text`)
		}
		title, err = l.Value()
		return err
	})
	return title, problem, err
}
