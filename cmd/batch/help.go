package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/docs"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/progress"
	"batch.example/batch/internal/removed"
)

const sectionAnnotation = "batch_section"

// inSection puts the flags of fs that are not in a section yet into the section title. A
// command's help shows sections and flags in the order in which they were added.
func inSection(fs *pflag.FlagSet, title string) {
	fs.SortFlags = false
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[sectionAnnotation] == nil {
			_ = fs.SetAnnotation(f.Name, sectionAnnotation, []string{title}) // the flag exists
		}
	})
}

// usage writes how c is called as cobra does, but flags by section, and pages by the name
// that `batch help` takes. It uses no template, since each help would parse it.
func usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:")
	if c.Runnable() {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n  %s [command]", c.CommandPath())
	}
	rest := "Available Commands:"
	for _, g := range c.Groups() {
		listCommands(w, g.Title, c, func(sub *cobra.Command) bool { return isListed(sub) && sub.GroupID == g.ID })
		rest = "Additional Commands:"
	}
	listCommands(w, rest, c, func(sub *cobra.Command) bool { return isListed(sub) && sub.GroupID == "" })
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\n\n%s", strings.TrimRight(flagSections(c.LocalFlags()), "\n"))
	}
	if !c.HasParent() {
		listPages(w)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(w)
	return err
}

func isListed(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }

// listCommands writes the commands below c that which accepts, under a title.
func listCommands(w io.Writer, title string, c *cobra.Command, which func(*cobra.Command) bool) {
	for _, sub := range c.Commands() {
		if !which(sub) {
			continue
		}
		if title != "" {
			fmt.Fprintf(w, "\n\n%s", title)
			title = ""
		}
		fmt.Fprintf(w, "\n  %-11s %s", sub.Name(), sub.Short)
	}
}

// listPages writes the pages in the order in which the manual has them.
func listPages(w io.Writer) {
	fmt.Fprint(w, "\n\nPages of `batch help`:")
	for _, p := range docs.Pages {
		if p.Part != docs.Developers {
			fmt.Fprintf(w, "\n  %-15s %s", p.Name, p.Title)
		}
	}
}

// helpWidth is how many columns the lines of a command's help may take.
const helpWidth = 80

// flagSections lists flags under the titles of their sections.
func flagSections(flags *pflag.FlagSet) string {
	var titles []string
	sections := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		title := "Flags"
		if in := f.Annotations[sectionAnnotation]; in != nil {
			title = in[0]
		} else if !flags.SortFlags { // beside sections
			title = "Other"
		}
		if sections[title] == nil {
			titles = append(titles, title)
			sections[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			sections[title].SortFlags = flags.SortFlags
		}
		wrapped := *f
		wrapped.Usage = strings.ReplaceAll(f.Usage, "\n", " ")
		sections[title].AddFlag(&wrapped)
	})
	var parts []string
	for _, title := range titles {
		parts = append(parts, title+":\n"+optionalValue(sections[title].FlagUsagesWrapped(helpWidth)))
	}
	return strings.Join(parts, "\n")
}

var optional = lazy.Regexp(` ([A-Z]+)\[=[a-z]+\]`)

// optionalValue writes a flag's value that may be left out in the only way in which it can
// be given: --flag[=VALUE], not --flag VALUE[=default].
func optionalValue(usages string) string {
	return optional().ReplaceAllStringFunc(usages, func(shown string) string {
		name, _, _ := strings.Cut(strings.TrimSpace(shown), "[")
		return fmt.Sprintf("%-*s", len(shown), "[="+name+"]")
	})
}

// checkNames makes `batch help` and `batch completion` refuse names that do not exist.
func (a *app) checkNames(root *cobra.Command) {
	if a.stdout != nil {
		root.SetOut(a.stdout) // completion keeps it
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownTopic
		case "completion":
			c.Args, c.RunE = knownCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// knownTopic refuses a topic that does not exist, and names the nearest one, and those with the word in
// their name, or else in their title.
func knownTopic(help *cobra.Command, args []string) error {
	c, rest, _ := help.Root().Find(args) // rest has the names that are not found
	if len(rest) == 0 {
		return nil
	}
	if instead := removed.Instead("batch help " + rest[0]); instead != "" {
		return fault.Newf(fault.Usage, "help topic %q has another name", rest[0]).WithHint("%s", instead)
	}
	want := strings.ToLower(rest[0])
	var names, named, titled []string
	for _, sub := range c.Commands() {
		switch name := sub.Name(); {
		case sub.Hidden:
		case len(want) > 2 && strings.Contains(name, want):
			named = append(named, name)
		case len(want) > 2 && strings.Contains(strings.ToLower(sub.Short), want):
			titled = append(titled, name)
			fallthrough
		default:
			names = append(names, name)
		}
	}
	if name := near.Name(want, names); name != "" {
		named = append(named, name)
	}
	if named == nil {
		named = titled
	}
	for i, name := range named {
		named[i] = "`batch help " + strings.TrimPrefix(c.CommandPath()+" "+name, "batch ") + "`"
	}
	hint := strings.Join(named[:min(3, len(named))], " or ")
	return fault.Newf(fault.Usage, "unknown help topic %q", rest[0]).WithHint("%s", near.Hint(hint, "see `batch help`"))
}

// topics are the pages of `batch help TOPIC` that belong to no command.
func topics() []*cobra.Command {
	var list []*cobra.Command
	for _, p := range docs.Pages {
		c := &cobra.Command{Use: p.Name, Short: p.Title}
		c.SetHelpFunc(func(c *cobra.Command, args []string) { c.Root().HelpFunc()(withText(c), args) })
		list = append(list, c)
	}
	return list
}

// withText gives c its text if it is a page of package docs. They are long, and most help
// shows none of them.
func withText(c *cobra.Command) *cobra.Command {
	if p, ok := pageOf(c); ok {
		c.Long = strings.TrimSpace(p.Text())
		if p.Name == "events" {
			c.Long += "\n\n    " + strings.ReplaceAll(strings.TrimSpace(progress.Schema), "\n", "\n    ")
		}
	}
	return c
}

func pageOf(c *cobra.Command) (docs.Page, bool) {
	for _, p := range docs.Pages {
		if c.CommandPath() == "batch "+p.Name {
			return p, true
		}
	}
	return docs.Page{}, false
}
