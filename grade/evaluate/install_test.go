package evaluate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/grade"
)

func TestInstalls(t *testing.T) {
	for _, script := range []string{
		"python -m pip install -e .", "pip3 install --no-build-isolation .", "pip --quiet install x", "uv pip install .", "python setup.py develop",
		"conda env update -f x.yml", "npm ci", "yarn", "cargo test --no-fail-fast", "./mvnw test", "mvn -q test", "go test ./...", "bundle exec rake",
		"apt-get -y install git", "git fetch origin", "curl -sSf http://x/y", "cd a && ./gradlew test",
	} {
		if !Installs("cd /testbed\n" + script + "\n") {
			t.Errorf("%q installs", script)
		}
	}
	for _, script := range []string{
		"pytest -rA tests", "conda activate testbed", "git config --global --add safe.directory /testbed", "git checkout abc tests/x.py", "# pip install x",
		"python -m pytest", "./bin/test -C --verbose", "git apply -v - <<'EOF'", "git diff base", "./tests/runtests.py --verbosity 2",
	} {
		if Installs("cd /testbed\n" + script + "\n") {
			t.Errorf("%q does not install", script)
		}
	}
}

func TestIndexes(t *testing.T) {
	list := Indexes("pip install --index-url https://user:secret@mirror.example/simple .\ncurl http://10.0.0.1:8080/x",
		"HTTPS_PROXY=proxy.example:3128\nregistry=http://[::1]:4873/\nPIP_INDEX_URL=https://pypi.example:8443/simple\n")
	for _, want := range []string{"mirror.example:443", "10.0.0.1:8080", "proxy.example:3128", "::1:4873", "pypi.example:8443", "pypi.org:443"} {
		if !slices.Contains(list, want) {
			t.Errorf("%s is missing in %q", want, list)
		}
	}
	if text := Connects(list); strings.Contains(text, "secret") || !strings.Contains(text, "/dev/tcp/::1/4873") {
		t.Error(text)
	}
}

func TestFailedInstall(t *testing.T) {
	const script = "python -m pip install -e .\n: '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\n"
	const maven = ": '>>>>> Start Test Output'\nmvn test\n: '>>>>> End Test Output'\n"
	const npm = "npm ci\n: '>>>>> Start Test Output'\nnpm test\n: '>>>>> End Test Output'\n"
	const marker = "+ : '>>>>> Start Test Output n'\n"
	for _, c := range []struct{ script, log, want string }{
		{script, "Looking in links\n  ERROR: Could not find a version that satisfies the requirement setuptools>=40 (from versions: none)\nERROR: No matching\n" + marker, "ERROR: Could not find a version that satisfies the requirement setuptools>=40 (from versions: none)"},
		{script, "  error: subprocess-exited-with-error\n" + marker, "error: subprocess-exited-with-error"},
		{script, "Successfully installed x\n" + marker + "ERROR: No matching distribution found for y\n", ""},
		{script, "ERROR: pip's dependency resolver does not currently take into account all the packages\n" + marker, ""},
		{script, "", ""},
		{maven, marker + "[INFO] x\n[ERROR] Failed to execute goal: Could not resolve dependencies for project x\n", "[ERROR] Failed to execute goal: Could not resolve dependencies for project x"},
		{maven, marker + "Tests run: 3\n", ""},
		{npm, marker + "npm ERR! Test failed.  See above for more details.\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 1\n", ""},
		{npm, marker + "npm error Lifecycle script `test` failed with error:\nnpm error code 1\nnpm error path /testbed\n", ""},
		{npm, marker + " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  a@1.0.0 test: `jest`\n × Building works\n", ""},
		{npm, marker + "npm ERR! code ENOTCACHED\nnpm ERR! request to https://registry.npmjs.org/x failed\n", "npm ERR! code ENOTCACHED"},
		{npm, "npm error code E404\n" + marker, "npm error code E404"},
		{npm, "npm error code 1\nnpm error path /testbed/node_modules/canvas\n" + marker, "npm error path /testbed/node_modules/canvas"},
		{npm, " ERR_PNPM_META_FETCH_FAIL  GET https://registry.npmjs.org/x: request failed\n" + marker, "ERR_PNPM_META_FETCH_FAIL  GET https://registry.npmjs.org/x: request failed"},
		{script, "  × Getting requirements to build wheel did not run successfully.\n" + marker, "× Getting requirements to build wheel did not run successfully."},
	} {
		if got := FailedInstall(c.script, grade.Log{Text: []byte(c.log), Nonce: "n"}); got != c.want {
			t.Errorf("%q: got %q, want %q", c.log, got, c.want)
		}
	}
}

func TestVerifiedRowsInstall(t *testing.T) {
	n := 0
	for _, in := range datasettest.Rows(t, "Verified-test") {
		if Installs(in.EvalScript) {
			n++
		}
	}
	if n != 500 {
		t.Errorf("%d of 500 rows of Verified install something, want 500", n)
	}
}

func TestWithoutAnIndexInstallersDoNotAskIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "eval.sh")
	if err := os.WriteFile(file, []byte("echo \"index ${PIP_NO_INDEX-} ${GOPROXY-}\"; exit 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for isOffline, want := range map[bool]string{false: "index  \n", true: "index 1 off\n"} {
		c := exec.CommandContext(t.Context(), "bash", "-c", evalCommand(file, isOffline))
		c.Env = []string{} // and so no PATH
		out, err := c.Output()
		if c.ProcessState.ExitCode() != 3 || string(out) != want {
			t.Errorf("offline %v: %q, %v, want %q", isOffline, out, err, want)
		}
	}
}
