package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// commandsOf returns the commands for a verb with arguments.
func commandsOf(v control.Verb, args []string) ([]control.Command, error) {
	one := control.Command{Verb: v}
	var err error
	switch v {
	case control.Cancel, control.Requeue:
		return eachOf(v, args)
	case control.SetWidth:
		one.Width, err = widthArg(args)
	case control.SetBudget:
		one.Budget, one.Add, err = budgetArg(args)
	case control.SetLimit:
		one.Limit, one.Instance, err = limitArgs(args)
	case control.Say:
		if len(args) < 2 {
			return nil, fault.Newf(fault.Usage, "say: expected an instance and a text").WithHint("`batch ctl DIR say ID TEXT`")
		}
		one.Instance, one.Text = args[0], strings.Join(args[1:], " ")
	default:
		if len(args) > 0 {
			err = fault.Newf(fault.Usage, "%s takes no arguments", v)
		}
	}
	return []control.Command{one}, err
}

func eachOf(v control.Verb, ids []string) (list []control.Command, err error) {
	if len(ids) == 0 {
		return nil, fault.Newf(fault.Usage, "%s: which instances?", v).WithHint("`batch ctl DIR ps` lists what runs")
	}
	for _, id := range ids {
		list = append(list, control.Command{Verb: v, Instance: id})
	}
	return list, nil
}

func widthArg(args []string) (n int, err error) {
	if len(args) == 1 {
		n, err = strconv.Atoi(args[0])
	}
	if len(args) != 1 || err != nil || n < 1 {
		return 0, fault.Newf(fault.Usage, "width %s: expected how many instances run at once", strings.Join(args, " "))
	}
	return n, nil
}

// budgetArg reads N or +N.
func budgetArg(args []string) (dollars float64, add bool, err error) {
	if len(args) == 1 {
		add = strings.HasPrefix(args[0], "+")
		dollars, err = strconv.ParseFloat(strings.TrimPrefix(args[0], "+"), 64)
	}
	if len(args) != 1 || err != nil || !isAmount(dollars) {
		return 0, false, fault.Newf(fault.Usage, "budget %s: expected US dollars, N or +N", strings.Join(args, " "))
	}
	return dollars, add, nil
}

// isAmount reports whether a number can be a limit: ParseFloat also takes "nan" and "inf".
func isAmount(n float64) bool { return n >= 0 && !math.IsInf(n, 1) }

// limitArgs reads limits, such as step=N, and an instance.
func limitArgs(args []string) (l control.Limit, instance string, err error) {
	l = control.Limit{}
	for _, arg := range args {
		name, value, pair := strings.Cut(arg, "=")
		switch {
		case pair:
			err = setLimit(l, name, value)
		case instance != "":
			err = fault.Newf(fault.Usage, "limit: expected one instance at most")
		default:
			instance = arg
		}
		if err != nil {
			return nil, "", err
		}
	}
	if len(l) == 0 {
		return nil, "", fault.Newf(fault.Usage, "limit: which one?").WithHint("step=N, cost=N in US dollars, or time=N such as time=30m; 0 is no limit")
	}
	return l, instance, nil
}

func setLimit(l control.Limit, name, value string) error {
	i := slices.IndexFunc(vocab.LimitKinds, func(k vocab.LimitKind) bool { return name == k.Arg || name == k.Name })
	if i < 0 {
		var names []string
		for _, k := range vocab.LimitKinds {
			names = append(names, k.Arg)
		}
		return fault.Newf(fault.Usage, "limit: unknown limit %q", name).WithHint("expected one of %s", strings.Join(names, ", "))
	}
	k := vocab.LimitKinds[i]
	number, err := strconv.ParseFloat(value, 64)
	if d, isTime := time.ParseDuration(value); isTime == nil && k.Unit == "seconds" && err != nil {
		number, err = d.Seconds(), nil
	}
	if k.Whole && number != math.Trunc(number) || err != nil || !isAmount(number) {
		return fault.Newf(fault.Usage, "limit %s=%s: expected a number", name, value)
	}
	l[k.Name] = number
	return nil
}
