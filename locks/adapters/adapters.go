// Package adapters has locks of libraries that people install, unmodified, as lock programs: each
// speaks the lines of locks/program/README.md. README.md beside it says how to reproduce a row,
// how to run one against a new release, and how to dispute it.
package adapters

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/locks"
)

//go:embed python/*.py php/*.php java/*.java
var files embed.FS

// Adapter is one library with one set of settings.
type Adapter struct {
	Name    string // what --locks calls it; the first of a library has its defaults
	Summary string // the library and the settings
	Source  string // its documentation
	Traits  locks.Traits
	// Lease is for how long a holder that is gone keeps the lock, where the program does not say; 0 if it
	// does, or there is none.
	Lease time.Duration

	language language
	run      []string // a file, class or program of the language, and its arguments
	needs    string   // what the language looks for: modules, files or jars
}

// ErrNotInstalled says which line installs a library that is missing here.
var ErrNotInstalled = errors.New("is not installed here")

// All lists the adapters by library.
func All() []Adapter {
	// What decides, as the servers run in the lab: Redis keeps nothing.
	var (
		redis  = locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseRelease, Keeps: locks.KeepsNothing}
		leased = locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseServer, Keeps: locks.KeepsNothing}
		quorum = locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseServer, Keeps: locks.KeepsNothing}
		raft   = locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything}
		table  = locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseServer, Keeps: locks.KeepsEverything}
		conn   = locks.Traits{Agree: locks.AgreeServer, Keeps: locks.KeepsEverything}
	)
	inPython := func(name, summary, source string, traits locks.Traits, run, modules string) Adapter {
		return Adapter{name, summary, source, traits, sessionOf(traits), python(), strings.Fields(run), modules}
	}
	inJava := func(name, summary string, run string) Adapter {
		return Adapter{name, summary, curator, raft, sessionOf(raft), java(), strings.Fields("Curator " + run), curatorJars}
	}
	inPHP := func(name, summary string, traits locks.Traits, run string) Adapter {
		run = "symfony_lock.php " + run
		return Adapter{name, summary, symfony, traits, 0, php(), strings.Fields(run), symfonyFiles}
	}
	inGo := func(name, summary, source string, traits locks.Traits, run string) Adapter {
		return Adapter{name, summary, source, traits, sessionOf(traits), golang(), strings.Fields(run), ""}
	}
	return []Adapter{
		inPython("redis-py", "redis-py's Lock: one Redis server, no lease", redisPy, redis, "redis_py.py", "redis"),
		inPython("redis-py-timeout", "redis-py's Lock with a timeout of 3 s", redisPy, leased, "redis_py.py 3", "redis"),
		inPython("redis-py-reacquire", "redis-py's Lock with a timeout of 0, reacquired after each acquisition", redisPy,
			redis, "redis_py.py 0 --reacquire", "redis"),
		inPython("kazoo", "kazoo's Lock on ZooKeeper, a session of 3 s", kazoo, raft, "kazoo_lock.py", "kazoo"),
		inPython("kazoo-listener", "kazoo's Lock with a listener that tells the holder of a lost connection",
			kazoo, raft, "kazoo_lock.py --listener", "kazoo"),
		inPython("python-etcd3",
			"python-etcd3's Lock: one etcd endpoint, a lease of 60 s that nothing renews; with tenacity 8 waiters fail at once",
			pythonEtcd3, raft, "etcd3_lock.py", "etcd3"),
		inPython("python-etcd3-ttl", "python-etcd3's Lock with a lease of 3 s", pythonEtcd3, raft, "etcd3_lock.py 3",
			"etcd3"),
		inPython("tooz-redis", "tooz's lock with its redis driver, a lease of 3 s", tooz, leased, "tooz_lock.py redis",
			"tooz redis"),
		inPython("tooz-zookeeper", "tooz's lock with its zookeeper driver, a session of 3 s", tooz, raft,
			"tooz_lock.py zookeeper", "tooz kazoo"),
		inPython("psycopg2", "PostgreSQL's session-level advisory lock with psycopg2",
			postgres, conn, "psycopg2_advisory.py", "psycopg2"),
		inPython("pymysql", "MariaDB's GET_LOCK with PyMySQL", mariadb, conn, "pymysql_get_lock.py", "pymysql"),
		inJava("curator", "Curator's InterProcessMutex, a session of 3 s (its default is 60 s)", "mutex"),
		inJava("curator-listener", "Curator's InterProcessMutex, a session of 3 s, and a listener that tells the holder "+
			"of a lost connection", "mutex --listener"),
		inJava("curator-semaphore", "Curator's InterProcessSemaphoreMutex, a session of 3 s", "semaphore"),
		inJava("curator-latch", "Curator's LeaderLatch, a session of 3 s", "latch"),
		inPHP("symfony-redis", "Symfony's RedisStore, a lease of 300 s", leased, "redis"),
		inPHP("symfony-redis-ttl", "Symfony's RedisStore, a lease of 3 s", leased, "redis 3"),
		inPHP("symfony-combined", "Symfony's CombinedStore (Redlock), a lease of 3 s", quorum, "combined 3"),
		inPHP("symfony-pdo", "Symfony's PdoStore on PostgreSQL, a lease of 3 s", table, "pdo 3"),
		inGo("redislock", "bsm/redislock: one Redis server, a lease of 3 s", "github.com/bsm/redislock", leased,
			"locklab-redislock"),
		inGo("redsync-defaults", "go-redsync with its defaults: a lease of 8 s, 32 tries", "github.com/go-redsync/redsync",
			quorum, "locklab-redsync"),
		inGo("rueidislock", "rueidislock on one Redis server: leases of 3 s that it extends",
			"github.com/redis/rueidis/rueidislock", leased, "locklab-rueidislock"),
		inGo("etcd-mutex", "etcd's concurrency.Mutex, a session of 3 s for each hold (its default is 60 s)", etcdMutex, raft,
			"locklab-etcd-mutex -ttl 3"),
		inGo("etcd-mutex-done", "etcd's concurrency.Mutex, a session of 3 s whose end the holder is told", etcdMutex, raft,
			"locklab-etcd-mutex -ttl 3 -session-done"),
		inGo("leaderelection",
			"Kubernetes' leaderelection of client-go on etcd with ReleaseOnCancel, a lease of 3 s, a fifth of its default",
			"k8s.io/client-go/tools/leaderelection", raft, "locklab-leaderelection"),
		inGo("nats-kv", "a key of a JetStream bucket with a time to live of 3 s",
			"docs.nats.io/nats-concepts/jetstream/key-value-store", table, "locklab-nats-kv"),
	}
}

const (
	redisPy     = "redis.readthedocs.io/en/stable/lock.html"
	kazoo       = "kazoo.readthedocs.io/en/latest/api/recipe/lock.html"
	pythonEtcd3 = "python-etcd3.readthedocs.io/en/latest/usage.html"
	tooz        = "docs.openstack.org/tooz/latest/user/tutorial/lock.html"
	postgres    = "postgresql.org/docs/current/explicit-locking.html"
	mariadb     = "mariadb.com/kb/en/get_lock"
	curator     = "curator.apache.org/docs/recipes-shared-reentrant-lock"
	symfony     = "symfony.com/doc/current/components/lock.html"
	etcdMutex   = "pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency"

	curatorJars = "curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava jackson-databind " +
		"jackson-core jackson-annotations slf4j-api slf4j-nop metrics-core snappy-java netty-all"
	symfonyFiles = "/usr/share/php/Symfony/Component/Lock/autoload.php"
)

// session is what the adapters set, where a library lets them: a run sees it end.
const session = 3 * time.Second

func sessionOf(t locks.Traits) time.Duration {
	if t.Lease == "" || t.Lease == locks.LeaseRelease {
		return 0
	}
	return session
}

// Names are those of all adapters.
func Names() (names []string) {
	for _, a := range All() {
		names = append(names, a.Name)
	}
	return names
}

// Find returns the adapter of that name.
func Find(name string) (Adapter, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a Adapter) bool { return a.Name == name })
	if i < 0 {
		return Adapter{}, false
	}
	return all[i], true
}

// Installed says what must be installed to run the adapter, with an error that wraps
// [ErrNotInstalled]; nil if it is there.
func (a Adapter) Installed() error {
	_, err := a.finds()
	return err
}

func (a Adapter) finds() ([]string, error) {
	words, install := a.language.find(a)
	if install != "" {
		return nil, fmt.Errorf("the library of %s %w: %s", a.Name, ErrNotInstalled, install)
	}
	return words, nil
}

// Command is what runs the adapter. Its sources are copied to a directory of this user's cache.
func (a Adapter) Command() ([]string, error) {
	words, err := a.finds()
	if err != nil || a.language.dir == "" {
		return slices.Concat(words, a.run[1:]), err
	}
	dir, err := unpacked(a.language, words)
	if a.language.build != nil {
		words[len(words)-1] += ":" + dir // the class path
		return slices.Concat(words, a.run), err
	}
	return slices.Concat(words, []string{filepath.Join(dir, a.run[0])}, a.run[1:]), err
}

// language is how the adapters of a programming language are run.
type language struct {
	dir string // of their sources; "" if they are built elsewhere
	// find gives the first words of the command, or the line that installs what is missing.
	find  func(Adapter) (words []string, install string)
	build func(dir string, words []string) error // nil: the sources are run as they are
}

func python() language {
	const test = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
	return language{dir: "python", find: func(a Adapter) ([]string, string) {
		modules := strings.Fields(a.needs)
		for _, name := range []string{"python3", "/usr/bin/python3"} { // Debian's packages are for its own
			if runs(name, slices.Concat([]string{"-c", test}, modules)...) {
				return []string{name}, ""
			}
		}
		return nil, "apt-get install python3 python3-" + strings.Join(modules, " python3-")
	}}
}

func php() language {
	const test = "exit((int) !(extension_loaded('redis') && extension_loaded('pdo_pgsql')));"
	return language{dir: "php", find: func(a Adapter) ([]string, string) {
		if _, err := os.Stat(a.needs); err != nil || !runs("php", "-r", test) {
			return nil, "apt-get install php-cli php-symfony-lock php-redis php-pgsql"
		}
		return []string{"php"}, ""
	}}
}

func java() language {
	return language{dir: "java", find: func(a Adapter) ([]string, string) {
		_, err := exec.LookPath("javac")
		var jars []string
		for name := range strings.FieldsSeq(a.needs) {
			jar := "/usr/share/java/" + name + ".jar"
			if _, missing := os.Stat(jar); missing != nil {
				err = missing
			}
			jars = append(jars, jar)
		}
		if err != nil {
			return nil, "apt-get install default-jdk-headless libcurator-recipes-java libjackson2-databind-java"
		}
		return []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", strings.Join(jars, ":")}, ""
	}, build: func(dir string, words []string) error {
		sources, _ := filepath.Glob(filepath.Join(dir, "*.java")) // the pattern is right
		args := slices.Concat([]string{"-cp", words[len(words)-1], "-d", dir}, sources)
		out, err := exec.Command("javac", args...).CombinedOutput() //nolint:noctx // it takes seconds
		if err != nil {
			return fmt.Errorf("compile the adapters in Java: %w: %s", err, out)
		}
		return nil
	}}
}

// golang finds a program that was built before: its module is not this one's.
func golang() language {
	return language{find: func(a Adapter) ([]string, string) {
		own, _ := os.Executable()
		home, _ := os.UserHomeDir()
		for _, dir := range []string{"", filepath.Dir(own), filepath.Join(home, "go/bin")} {
			if path, err := exec.LookPath(filepath.Join(dir, a.run[0])); err == nil {
				return []string{path}, ""
			}
		}
		return nil, "go -C locks/adapters/go install ./..."
	}}
}

func runs(name string, args ...string) bool {
	return exec.Command(name, args...).Run() == nil //nolint:noctx // it only looks
}

// unpacked is the directory with the sources of a language, made once for each version of them.
func unpacked(of language, words []string) (string, error) {
	names, _ := fs.Glob(files, of.dir+"/*") // the pattern is right
	hash := sha256.New()
	texts := map[string][]byte{}
	for _, name := range names {
		texts[filepath.Base(name)], _ = files.ReadFile(name) // it is there
		hash.Write(texts[filepath.Base(name)])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "locklab", fmt.Sprintf("%s-%.8x", of.dir, hash.Sum(nil)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(part) }() // it has another name by then
	for name, text := range texts {
		err = errors.Join(err, os.WriteFile(filepath.Join(part, name), text, 0o644))
	}
	if err == nil && of.build != nil {
		err = of.build(part, words)
	}
	if err == nil {
		err = os.Rename(part, dir)
	}
	if _, made := os.Stat(dir); made == nil { // perhaps by another lab meanwhile
		err = nil
	}
	return dir, err
}
