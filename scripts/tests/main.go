// Tests plans what `make test` runs, and prints its result.
//
//	go run ./scripts/tests plan [all]    which packages run, and how, as assignments for a shell
//	go run ./scripts/tests woken PATH... prints yes or no: whether a file at or below a path has changed
//	go run ./scripts/tests summary [-short] DIR [PACKAGE...]
//
// A change is a difference from the commit that .ci/passed names: the one on which `make test-all`
// last passed. If there is none, or it is not an ancestor of HEAD, everything has changed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"batch.example/batch/internal/tier"
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		os.Exit(1)
	}
}

func command(out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("want plan, woken or summary")
	}
	switch verb, args := args[0], args[1:]; verb {
	case "plan":
		since := everything("make test-all was asked for")
		if len(args) == 0 {
			since = changes(".")
		}
		list, err := packages()
		if err != nil {
			return err
		}
		makePlan(since, list).print(out)
		return nil
	case "woken":
		since := changes(".")
		fmt.Fprintln(out, map[bool]string{true: "yes", false: "no"}[since.all || tier.Woken(since.files, args)])
		return nil
	case "summary":
		flags := flag.NewFlagSet(verb, flag.ContinueOnError)
		short := flags.Bool("short", false, "the tests ran with -short")
		if err := flags.Parse(args); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			return errors.New("want the folder with the events")
		}
		return summarize(out, flags.Arg(0), *short, flags.Args()[1:])
	default:
		return fmt.Errorf("unknown command %q", verb)
	}
}
