package evaluate

import (
	"cmp"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
)

// installers match calls of programs that get packages, or build with them, from an index, with the
// public index that they use; empty: unknown. A pattern that matches too much costs a probe of the
// network, one that matches too little costs the right verdict.
var installers = []struct {
	calls func() *regexp.Regexp
	index string
}{
	{lazy.Regexp(`\bpip[\d.]*(?:\s+-\S+)*\s+(?:install|download|wheel)\b|\b(?:uv|uvx|poetry|pipenv|pdm|hatch|rye|tox|nox|easy_install)\s|\bsetup\.py\b.*\b(?:install|develop|test)\b`), "pypi.org:443"},
	{lazy.Regexp(`\b(?:conda|mamba|micromamba)\s+(?:install|create|update|env\s+(?:create|update))\b`), "conda.anaconda.org:443"},
	{lazy.Regexp(`\b(?:npm|pnpm|yarn|bun|npx|bunx|corepack|deno)(?:\s|$)`), "registry.npmjs.org:443"},
	{lazy.Regexp(`\bcargo\s`), "index.crates.io:443"},
	{lazy.Regexp(`\b(?:mvnd?|gradle|sbt|ant|lein|bazel)\s|\b(?:mvnw|gradlew)\b`), "repo.maven.apache.org:443"},
	{lazy.Regexp(`\bgo\s+(?:get|install|mod|work|test|build|run|generate|vet)\b`), "proxy.golang.org:443"},
	{lazy.Regexp(`\b(?:bundle|bundler|rake)\s|\bgem\s+install\b`), "rubygems.org:443"},
	{lazy.Regexp(`\bcomposer\s`), "repo.packagist.org:443"},
	{lazy.Regexp(`\b(?:apt|apt-get)\b.*\b(?:install|update)\b`), "deb.debian.org:80"},
	{lazy.Regexp(`\b(?:apk|yum|dnf|microdnf)\b.*\b(?:install|update|add)\b|\b(?:dotnet|nuget|mix|rebar3|cabal|stack|swift|opam|flutter|dart|nimble|luarocks|cpan|cpanm|curl|wget)\s|\bgit\b.*\b(?:clone|fetch|pull|submodule)\b`), ""},
}

// Installs reports whether a script calls a program that gets packages from an index.
func Installs(script string) bool {
	for range installersOf(script) {
		return true // most scripts install before a long test patch, and whole datasets are planned
	}
	return false
}

// installersOf returns the public indexes of the installers that a script calls.
func installersOf(script string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(script) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, i := range installers {
				if i.calls().MatchString(line) && !yield(i.index) {
					return
				}
			}
		}
	}
}

// offline has settings that stop installers from trying to reach an index, so that they fail at
// once instead of after all retries. Packages that are installed or in a local cache are found as
// before.
var offline = []string{
	"PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_RETRIES=0", "UV_OFFLINE=1", "CONDA_OFFLINE=true",
	"npm_config_offline=true", "npm_config_fetch_retries=0", "YARN_ENABLE_NETWORK=0", "CARGO_NET_OFFLINE=true", "MAVEN_ARGS=--offline", "GOPROXY=off",
	"BUNDLE_PREFER_LOCAL=true", "BUNDLE_RETRY=0", "BUNDLE_TIMEOUT=1", "COMPOSER_DISABLE_NETWORK=1",
}

// evalCommand returns the command that runs eval.sh.
func evalCommand(file string, isOffline bool) string {
	command := "exec /bin/bash " + file
	if isOffline { // not with env, which is in different places
		command = strings.Join(offline, " ") + " " + command
	}
	return command
}

// Settings is a bash script that prints the container's own settings of indexes and proxies.
// [Indexes] reads its output.
const Settings = `{ env | grep -iE '^[a-z_]*(proxy|index|registry|mirror|channel)[a-z_]*='
cat /etc/pip.conf /etc/xdg/pip/pip.conf ~/.pip/pip.conf ~/.config/pip/pip.conf ~/.pydistutils.cfg "${PIP_CONFIG_FILE:-/dev/null}" "${CONDA_PREFIX:-/dev}"/pip.conf \
    ~/.config/uv/uv.toml ~/.condarc ~/.npmrc .npmrc /etc/npmrc /usr/etc/npmrc /usr/local/etc/npmrc ~/.yarnrc ~/.yarnrc.yml .yarnrc.yml \
    ~/.cargo/config ~/.cargo/config.toml .cargo/config.toml ~/.m2/settings.xml ~/.gradle/gradle.properties ~/.gradle/init.gradle \
    ~/.gemrc ~/.bundle/config .bundle/config ~/.composer/config.json ~/.config/composer/config.json ~/.config/go/env
} 2>/dev/null | head -c 200000; :`

// Indexes returns the addresses, host:port, that the script's installs may need: the public indexes
// of its installers, and the URLs in its calls and settings of them and in the output of
// [Settings]. They are sorted.
func Indexes(script, settings string) []string {
	list := slices.AppendSeq(addresses(settings), installersOf(script))
	for line := range strings.Lines(script) { // other lines are tests and documents
		if sets().MatchString(line) || Installs(line) {
			list = append(list, addresses(line)...)
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(address string) bool { return address == "" })
}

var (
	sets = lazy.Regexp(`^\s*(?:export|declare)\s|\bconfig\b.*\bset\b`)
	urls = lazy.Regexp(`(?i)\bhttps?://[^\s"'<>|;,\\)]+`)
	// bareProxy is a proxy without a scheme, which curl and its like accept.
	bareProxy = lazy.Regexp(`(?im)^[a-z_]*proxy=([\w.-]+:\d+)/?$`)
)

func addresses(text string) (list []string) {
	for _, found := range urls().FindAllString(text, -1) {
		u, err := url.Parse(found)
		if err != nil || u.Hostname() == "" {
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[bool]string{true: "443", false: "80"}[strings.EqualFold(u.Scheme, "https")]
		}
		list = append(list, u.Hostname()+":"+port)
	}
	for _, found := range bareProxy().FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return list
}

// Connects returns a bash script that prints the addresses in a list that accept a connection, one
// per line.
func Connects(list []string) string {
	var b strings.Builder
	for _, address := range list {
		colon := strings.LastIndexByte(address, ':')
		host, port := address[:colon], address[colon+1:]
		b.WriteString("(exec 3<>" + bash.Quote("/dev/tcp/"+host+"/"+port) + " && echo " + bash.Quote(address) + ") 2>/dev/null &\n")
	}
	return b.String() + "wait\n"
}

// installErrors match the lines that installers print when they fail.
var installErrors = lazy.Regexp(`(?m)^[ \t]*(?:` + strings.Join([]string{
	`ERROR: (?:Exception:|Could not find a version that satisfies|No matching distribution found|Could not install packages|Failed (?:to build|building)|Cannot install|Directory '.*' is not installable|Could not build wheels).*`,
	`(?:error|× ?.*): (?:subprocess-exited-with-error|metadata-generation-failed|externally-managed-environment|legacy-install-failure).*`,
	`× (?:No solution found when|Failed to (?:build|download|fetch|prepare|read|resolve)|Encountered error while trying|.* did not run successfully).*`, `error: Could not find suitable distribution for .*`, `error: Failed to (?:fetch|download|prepare|install).*`,
	// npm and pnpm also report failed scripts, such as the tests' script.
	`npm (?:ERR!|error) code (?:E[0-9]{3}|ENOT(?:CACHED|FOUND)|ECONN\w*|EAI_AGAIN|E\w*TIMED?OUT|E(?:NET|HOST)UNREACH|ERESOLVE|ETARGET|EINTEGRITY|EUSAGE|EUNSUPPORTEDPROTOCOL|ERR_\w+|\w+_CERT_\w+|\w+_SIGNATURE|CERT_\w+)\b.*`,
	`npm (?:ERR!|error) path .*/node_modules/.*`, `ERR_PNPM_(?:\w*FETCH|NO_OFFLINE|NO_MATCHING|NO_VERSIONS|\w*TARBALL|\w*LOCKFILE|PEER_DEP|REGISTR)\w*.*`, `error (?:An unexpected error occurred|Couldn't find package|.*network connection).*`, `➤ YN00\d\d: .*(?:Request|Usage|network) .*(?:failed|error|disabled).*`,
	`error: (?:no matching package|failed to (?:get|download|select|load source|parse manifest)).*`, `error: .*--offline was specified.*`,
	`\[ERROR\].*(?:Could not resolve dependencies|Could not transfer artifact|Cannot access .* in offline mode|could not be resolved|Non-resolvable).*`,
	`> Could not (?:resolve|GET|download).*`, `(?:go: )?.*module lookup disabled by GOPROXY=off.*`, `go: .*(?:dial tcp|no required module provides|cannot find module).*`,
	`Could not (?:fetch specs|find gem|reach host).*`, `Bundler::(?:HTTPError|GemNotFound).*`, `ERROR:  (?:Could not find a valid gem|While executing gem).*`,
	`.*Composer\\Downloader\\TransportException.*`, `(?:CondaHTTPError|PackagesNotFoundError|CondaError|OfflineError|ResolvePackageNotFound).*`,
	`E: (?:Unable to locate package|Failed to fetch|Package .* has no installation candidate|Unable to fetch).*`,
	`curl: \(\d+\) .*`, `fatal: unable to access .*`, `wget: unable to resolve.*`,
}, "|") + `)`)

// FailedInstall returns the line of a log that reports a failed install of its script, or "". The
// tests' output counts only if the tests themselves install, as Maven's and Cargo's do.
func FailedInstall(script string, l grade.Log) string {
	text := grade.Decode(l.Text)
	before, tests, marked := strings.Cut(text, grade.StartMarker(l.Nonce))
	if marked && Installs(testCommand(script)) {
		before += tests
	}
	return strings.TrimSpace(installErrors().FindString(before))
}

// MissingRunner is [grade.MissingRunner] for a job's log without results.
func MissingRunner(job Job, l grade.Log) string {
	return grade.MissingRunner(l, cmp.Or(job.Command, testCommand(job.Script)), job.Command != "")
}
