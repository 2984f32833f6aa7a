package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/internal/paths"
	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/engines"
	"batch.example/batch/run/selecting"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// completer offers values for the word that begins with prefix. A description follows its
// value after a tab. A value that ends with / or = is not finished.
type completer func(c *cobra.Command, args []string, prefix string) []string

// complete gives root and all commands below it a check and a completion of their arguments,
// which their usage names (DIR, INSTANCE), and a completion of the values of their flags. It
// uses neither the network nor an engine.
func (a *app) complete(root *cobra.Command) { a.completeWith(a.flagValues(), root) }

func (a *app) completeWith(flags map[string]completer, root *cobra.Command) {
	places := strings.Fields(root.Use)[1:]
	if root.Runnable() && root.Args == nil {
		root.Args = takes(places...)
	}
	if root.Runnable() && root.ValidArgsFunction == nil {
		root.ValidArgsFunction = shell(a.arguments(places))
	}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		_, directory := f.Annotations[cobra.BashCompSubdirsInDir]
		if f.NoOptDefVal == "" && !directory { // a switch has no value
			offer := flags[f.Name]
			if offer == nil && strings.Contains(f.Usage, "`FILE`") {
				offer = a.files()
			}
			_ = root.RegisterFlagCompletionFunc(f.Name, shell(offer))
		}
	})
	for _, sub := range root.Commands() {
		a.completeWith(flags, sub)
	}
}

// shell returns f in the form that cobra wants. Without f, nothing is offered, not even files.
func shell(f completer) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if f == nil {
			return nil, directive
		}
		list := slices.DeleteFunc(f(c, args, prefix), func(v string) bool { return !strings.HasPrefix(v, prefix) })
		for _, v := range list {
			if value, _, _ := strings.Cut(v, "\t"); strings.HasSuffix(value, "/") || strings.HasSuffix(value, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return list, directive
	}
}

// arguments completes arguments by what a command's usage calls them: DIR, then
// INSTANCE, which may be repeated.
func (a *app) arguments(places []string) completer {
	return func(c *cobra.Command, args []string, prefix string) []string {
		if len(places) == 0 {
			return nil
		}
		place := places[min(len(args), len(places)-1)]
		repeats := strings.Contains(place, "...")
		if len(args) >= len(places) && !repeats {
			return nil
		}
		switch strings.Trim(place, "[].") {
		case "DIR", "A", "B":
			return paths.RunDirectories(a.home, prefix)
		case "DIR|PREDS|gold|empty":
			list := append(paths.RunDirectories(a.home, prefix), paths.Files(a.home, prefix, ".json", ".jsonl")...)
			return append(list, wordGold+"\teach row's own patch", wordEmpty+"\tno patch at all")
		case "FILE":
			return paths.Files(a.home, prefix)
		case "NAME":
			return builtins()
		case "PATTERN":
			return slices.Sorted(maps.Keys(price.Known()))
		case "INSTANCE":
			if strings.HasPrefix(places[0], "DIR") && len(args) > 0 {
				return without(instancesOf(args[0]), args[1:])
			}
			return without(a.instances(c), args)
		default:
			return nil
		}
	}
}

// flagValues are the completers by flag. Of the others, a flag with a FILE offers files.
func (a *app) flagValues() map[string]completer {
	return map[string]completer{
		"output": func(c *cobra.Command, _ []string, prefix string) []string {
			if c.Name() == "report" {
				return paths.Files(a.home, prefix, ".html")
			}
			return paths.RunDirectories(a.home, prefix)
		},
		"by": func(_ *cobra.Command, _ []string, prefix string) []string {
			return append([]string{selecting.ByMajority}, paths.Files(a.home, prefix)...)
		},
		"entry":             listedEntries,
		"detector":          fixed(detectorNames()...),
		"chat":              a.files(".jsonl"),
		"steps":             a.files(".parquet"),
		"subset":            a.datasets,
		"split":             fixed("test", "dev", "train"),
		"rules":             fixed("v5", "v4"),
		"parser":            a.files(),
		"agent":             a.configs,
		"config":            a.configs,
		"model":             a.modelNames,
		"model-class":       fixed("toolcall", "textbased"),
		"engine":            fixed(engines.Forms()...),
		"environment-class": fixed(config.Classes()...),
		"mode":              fixed("confirm\tyou approve each action", "yolo\tactions run at once", "human\tyou write the commands"),
		"order": fixed(manifest.OrderGrouped+"\tinstances that share images near each other",
			manifest.OrderGiven+"\tas the dataset has them"),
		"durability": fixed(string(journal.Power)+"\tsurvives a power cut",
			string(journal.Process)+"\tsurvives the end of the program"),
		"listen": func(c *cobra.Command, _ []string, _ string) []string {
			if c.Name() != "serve" {
				return nil
			}
			return []string{"127.0.0.1:4100\tthis machine only", "0.0.0.0:4100\tall networks"}
		},
		"network":       fixed("none\tno network", "bridge\tone network for all containers"),
		"grade-workers": fixed("auto\tone for each CPU core of the engine"),
		"workers":       fixed("auto\tas many as there is room for"),
		"gate":          fixed("resolved >= -1pt\tnot worse by more than one point", "resolved > 0pt\tbetter", "cost <= +10%\tnot more expensive by more than a tenth"),
		"platform":      fixed("linux/amd64", "linux/arm64"),
		"outcome":       listed(outcomesOf),
		"status":        listed(statusesOf),
		"verdict":       listed(func([]string) []string { return words(vocab.Verdicts()) }),
		"ids":           listed(func([]string) []string { return knownEndings() }),
		"retry":         begun("=", runner.Endings()),
		"script":        a.files(".yaml", ".yml", ".json"),
		"fault":         begun(":", append([]string{"429", "500", "529"}, stub.Troubles()...)),
		"as":            fixed("text", "yaml", "json"),
		"provider":      func(*cobra.Command, []string, string) []string { return pricedProviders() },
	}
}

// files offers the files with one of the endings; without endings, all files.
func (a *app) files(endings ...string) completer {
	return func(_ *cobra.Command, _ []string, prefix string) []string {
		return paths.Files(a.home, prefix, endings...)
	}
}

// begun offers the beginnings of pairs, such as KIND= of KIND=N.
func begun(separator string, keys []string) completer {
	for i := range keys {
		keys[i] += separator
	}
	return fixed(keys...)
}

func fixed(values ...string) completer {
	return func(*cobra.Command, []string, string) []string { return slices.Clone(values) }
}

// listedEntries are the entries of the sweeps that are named.
func listedEntries(_ *cobra.Command, args []string, _ string) (names []string) {
	for _, dir := range args {
		x, err := sweeps.Read(dir)
		if err != nil {
			continue
		}
		for _, cell := range x.Cells {
			if !slices.Contains(names, cell.Entry) {
				names = append(names, cell.Entry)
			}
		}
	}
	return names
}

// listed completes the last of several values with commas between them.
func listed(values func(args []string) []string) completer {
	return func(_ *cobra.Command, args []string, prefix string) []string {
		before := prefix[:strings.LastIndex(prefix, ",")+1]
		list := without(values(args), strings.Split(before, ","))
		for i := range list {
			list[i] = before + list[i]
		}
		return list
	}
}

// without leaves out values that are given already.
func without(values, given []string) []string {
	return slices.DeleteFunc(values, func(v string) bool {
		value, _, _ := strings.Cut(v, "\t")
		return slices.Contains(given, value)
	})
}

// datasets are the short names, and files and folders.
func (a *app) datasets(_ *cobra.Command, _ []string, prefix string) []string {
	var list []string
	for _, name := range dataset.ShortNames() {
		list = append(list, name+"\t"+cmp.Or(dataset.Aliases()[name], "ten small instances that come with batch"))
	}
	return append(list, paths.Files(a.home, prefix, ".parquet", ".jsonl", ".json", ".gz", ".zst")...)
}

func (a *app) modelNames(_ *cobra.Command, _ []string, prefix string) []string {
	list := catalogue.Words()
	for _, name := range slices.Sorted(maps.Keys(price.Known())) {
		provider, _, _ := strings.Cut(name, "/")
		if slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool { return p.Name == provider }) {
			list = append(list, name)
		}
	}
	if file, ok := strings.CutPrefix(prefix, "scripted/"); ok {
		for _, path := range paths.Files(a.home, file, ".yaml", ".yml", ".json") {
			list = append(list, "scripted/"+path)
		}
	}
	return list
}

// pricedProviders returns the providers that have models with a known price or context.
func pricedProviders() []string {
	names := map[string]bool{}
	for _, m := range price.Known() {
		names[m.Provider] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// builtins are batch's own configurations: prompts first, then programs.
func builtins() []string {
	list := []string{"default\tbatch's own prompts", "text\tcommands in a fence", "tools\tan editor beside bash", "tasks\tfor task folders", "chat\tfor batch chat and batch serve"}
	prompts := len(list)
	for _, name := range config.Builtins() {
		if !slices.ContainsFunc(list[:prompts], func(known string) bool { return strings.HasPrefix(known, name+"\t") }) {
			list = append(list, name+"\ta program as the agent")
		}
	}
	return list
}

// configs are batch's own configurations, YAML files here and in MSWEA_CONFIG_DIR,
// and the keys.
func (a *app) configs(_ *cobra.Command, _ []string, prefix string) []string {
	own := builtins()
	list := append(own, paths.Files(a.home, prefix, ".yaml", ".yml")...)
	if dir := a.getenv("MSWEA_CONFIG_DIR"); dir != "" && !strings.Contains(prefix, "/") {
		for _, path := range paths.Files(a.home, dir+"/", ".yaml", ".yml") {
			if name := strings.TrimPrefix(path, dir+"/"); !strings.HasSuffix(name, "/") {
				list = append(list, name)
			}
		}
	}
	for _, k := range config.Keys() {
		list = append(list, k.Path+"=")
	}
	slices.Sort(list[len(own):])
	return slices.Compact(list)
}

func outcomesOf(args []string) []string {
	if list := countedIn(args, func(r results.Record) string { return string(r.Outcome) }); list != nil {
		return list
	}
	return words(vocab.Outcomes())
}

func statusesOf(args []string) []string {
	if list := countedIn(args, func(r results.Record) string { return string(r.Status) }); list != nil {
		return list
	}
	return words(vocab.Statuses())
}

// knownEndings are the verdicts, outcomes and exit statuses; a word that is two of them, once.
func knownEndings() []string {
	list := slices.Concat(words(vocab.Verdicts()), words(vocab.Outcomes()), words(vocab.Statuses()))
	slices.Sort(list)
	return slices.Compact(list)
}

func words[W ~string](list []W) []string {
	names := make([]string, len(list))
	for i, w := range list {
		names[i] = string(w)
	}
	return names
}

// countedIn are the values that instances of the run directory in args have, each
// with how many have it.
func countedIn(args []string, value func(results.Record) string) []string {
	if len(args) == 0 {
		return nil
	}
	snap, err := results.Read(args[0])
	if err != nil {
		return nil
	}
	counts := map[string]int{}
	for _, r := range results.Latest(snap.Records) {
		counts[value(r)]++
	}
	var list []string
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, v+"\t"+printable.Count(counts[v], "instance", "instances"))
	}
	return list
}

// instancesOf are the instances of a run directory, with how they ended.
func instancesOf(dir string) []string {
	snap, err := results.Read(dir)
	if err != nil {
		return nil
	}
	last := results.Latest(snap.Records)
	list := snap.Asked()
	for i, id := range list {
		if r, ok := last[id]; ok {
			list[i] = id + "\t" + string(r.Status)
		}
	}
	return list
}

// instances returns all instances of the dataset that a command's flags name, if reading it is
// quick and needs no network.
func (a *app) instances(c *cobra.Command) []string {
	value := func(flag string) string {
		if f := c.Flags().Lookup(flag); f != nil {
			return f.Value.String()
		}
		return ""
	}
	ctx, stop := context.WithTimeout(c.Context(), 3*time.Second)
	defer stop()
	ds, err := a.openHere(ctx, value("subset"), value("split"), value("revision"))
	if err != nil {
		return nil
	}
	var list []string
	for _, in := range ds.Instances {
		list = append(list, in.ID)
	}
	return list
}
