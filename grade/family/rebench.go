package family

import (
	"batch.example/batch/grade/evalscript"
)

// SWE-rebench, its leaderboard and SWE-bench-extra have the form of SWE-bench 4, but each row has
// its commands and the name of its parser in install_config (SWE-rebench/SWE-bench-fork). The rule
// is SWE-bench's.
func isRebench(r row) bool { return r.object("install_config") != nil }

func fillRebench(r row, t *Task) error {
	config := r.object("install_config")
	c, err := commandsIn(r, config)
	if err != nil {
		return err
	}
	t.Script = evalscript.Python(scriptRow(r), c)
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.Workdir = testbed
	name, err := parserIn(r, config)
	if name == "" {
		return err
	}
	t.named(name)
	t.parse = asInV4(t.parse)
	return knownParser(r, t, "install_config.log_parser")
}

func commandsIn(r row, config map[string]any) (c evalscript.Commands, err error) {
	for key, to := range map[string]*[]string{"test_cmd": &c.TestCmd, "install": &c.Install, "eval_commands": &c.EvalCommands} {
		if *to, err = commandsOf(config[key]); err != nil {
			return c, r.fault("column install_config: %s: %w", key, err)
		}
	}
	if len(c.TestCmd) == 0 && r.options.EvalScript == "" {
		return c, r.fault("column install_config has no test_cmd").WithHint("%s", bringYourOwn)
	}
	return c, nil
}

// parserIn returns the name of the parser in install_config. It is "" with an error, and if the
// user's own parser replaces it.
func parserIn(r row, config map[string]any) (string, error) {
	if r.options.Parser != "" {
		return "", nil
	}
	name, _ := config["log_parser"].(string)
	if name == "" {
		return "", r.fault("column install_config has no log_parser").WithHint("%s", bringYourOwn)
	}
	return name, nil
}
