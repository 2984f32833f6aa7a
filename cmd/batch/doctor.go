package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/docker"
	"batch.example/batch/doctor"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine can run it, and say what to do",
		Long: `Check the Docker engine, memory, disk, the model's key and the dataset hub, and
say what to do about what is missing. Exit code 1 when a run could not work.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			failed := 0
			for _, k := range doctor.Look(c.Context(), doctor.Config{
				Docker: docker.FromEnv(a.getenv, a.home), Hub: hub.FromEnv(a.getenv, a.home), Dir: ".", Getenv: a.getenv,
			}) {
				fmt.Fprintf(a.stdout, "%-5s %-7s %s\n", k.State, k.Name, printable.Line(k.Text))
				if k.Hint != "" {
					fmt.Fprintf(a.stdout, "%14s%s\n", "", strings.ReplaceAll(k.Hint, "\n", "\n"+strings.Repeat(" ", 14)))
				}
				if k.State == doctor.Bad {
					failed++
				}
			}
			if failed > 0 {
				return fault.Newf(fault.Host, "%d checks failed", failed)
			}
			return nil
		},
	}
}
