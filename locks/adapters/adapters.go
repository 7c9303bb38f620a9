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
)

//go:embed python/*.py php/*.php java/*.java
var files embed.FS //nolint:gochecknoglobals // the sources

// Adapter is one library with one set of settings.
type Adapter struct {
	Name    string // what --locks calls it; the first of a library has its defaults
	Summary string // the library and the settings
	Source  string // its documentation

	language language
	run      []string // a file, class or program of the language, and its arguments
	needs    string   // what the language looks for: modules, files or jars
}

// ErrNotInstalled says which line installs a library that is missing here.
var ErrNotInstalled = errors.New("is not installed here")

// All lists the adapters by library.
func All() []Adapter {
	return []Adapter{
		{"redis-py", "redis-py's Lock: one Redis server, no lease", redisPy, python, words("redis_py.py"), "redis"},
		{"redis-py-timeout", "redis-py's Lock with a timeout of 3 s", redisPy, python, words("redis_py.py 3"), "redis"},
		{"kazoo", "kazoo's Lock on ZooKeeper", kazoo, python, words("kazoo_lock.py"), "kazoo"},
		{"kazoo-listener", "kazoo's Lock with a listener that tells the holder of a lost connection", kazoo, python,
			words("kazoo_lock.py --listener"), "kazoo"},
		{"python-etcd3", "python-etcd3's Lock: one etcd endpoint, a lease of 60 s that nothing renews", pythonEtcd3, python,
			words("etcd3_lock.py"), "etcd3"},
		{"python-etcd3-ttl", "python-etcd3's Lock with a lease of 3 s", pythonEtcd3, python, words("etcd3_lock.py 3"), "etcd3"},
		{"tooz-redis", "tooz's lock with its redis driver", tooz, python, words("tooz_lock.py redis"), "tooz redis"},
		{"tooz-zookeeper", "tooz's lock with its zookeeper driver", tooz, python, words("tooz_lock.py zookeeper"), "tooz kazoo"},
		{"psycopg2", "PostgreSQL's session-level advisory lock with psycopg2", postgres, python, words("psycopg2_advisory.py"), "psycopg2"},
		{"pymysql", "MariaDB's GET_LOCK with PyMySQL", mariadb, python, words("pymysql_get_lock.py"), "pymysql"},
		{"curator", "Curator's InterProcessMutex", curator, java, words("Curator mutex"), curatorJars},
		{"curator-listener", "Curator's InterProcessMutex, a session of 3 s, and a listener that tells the holder of a lost connection",
			curator, java, words("Curator mutex --listener"), curatorJars},
		{"curator-semaphore", "Curator's InterProcessSemaphoreMutex", curator, java, words("Curator semaphore"), curatorJars},
		{"curator-latch", "Curator's LeaderLatch", curator, java, words("Curator latch"), curatorJars},
		{"symfony-redis", "Symfony's RedisStore, a lease of 300 s", symfony, php, words("symfony_lock.php redis"), symfonyFiles},
		{"symfony-redis-ttl", "Symfony's RedisStore, a lease of 3 s", symfony, php, words("symfony_lock.php redis 3"), symfonyFiles},
		{"symfony-combined", "Symfony's CombinedStore (Redlock), a lease of 3 s", symfony, php, words("symfony_lock.php combined 3"), symfonyFiles},
		{"symfony-pdo", "Symfony's PdoStore on PostgreSQL, a lease of 3 s", symfony, php, words("symfony_lock.php pdo 3"), symfonyFiles},
		{"redislock", "bsm/redislock: one Redis server, a lease of 3 s", "github.com/bsm/redislock", golang, words("locklab-redislock"), ""},
		{"redsync-defaults", "go-redsync with its defaults: a lease of 8 s, 32 tries", "github.com/go-redsync/redsync", golang, words("locklab-redsync"), ""},
		{"rueidislock", "rueidislock on one Redis server: leases that it extends", "github.com/redis/rueidis/rueidislock", golang, words("locklab-rueidislock"), ""},
		{"etcd-mutex", "etcd's concurrency.Mutex, a session of 60 s for each hold", etcdMutex, golang, words("locklab-etcd-mutex"), ""},
		{"etcd-mutex-done", "etcd's concurrency.Mutex, a session of 3 s whose end the holder is told", etcdMutex, golang,
			words("locklab-etcd-mutex -ttl 3 -session-done"), ""},
		{"leaderelection", "Kubernetes' leaderelection of client-go with its defaults, on etcd", "k8s.io/client-go/tools/leaderelection", golang,
			words("locklab-leaderelection"), ""},
		{"nats-kv", "a key of a JetStream bucket with a time to live of 3 s", "docs.nats.io/nats-concepts/jetstream/key-value-store", golang,
			words("locklab-nats-kv"), ""},
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

	curatorJars  = "curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava jackson-databind jackson-core jackson-annotations slf4j-api slf4j-nop metrics-core snappy-java netty-all"
	symfonyFiles = "/usr/share/php/Symfony/Component/Lock/autoload.php"
)

func words(text string) []string { return strings.Fields(text) }

// Find returns the adapter of that name.
func Find(name string) (Adapter, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a Adapter) bool { return a.Name == name })
	if i < 0 {
		return Adapter{}, false
	}
	return all[i], true
}

// Command is what runs the adapter. Its sources are copied to a directory of this user's cache.
// The error is [ErrNotInstalled] if its library is not there.
func (a Adapter) Command() ([]string, error) {
	command, err := a.language(a)
	if errors.Is(err, ErrNotInstalled) {
		return nil, fmt.Errorf("the library of %s %w", a.Name, err)
	}
	return command, err
}

// language finds the interpreter and the library of an adapter.
type language func(Adapter) ([]string, error)

// missing says how to install.
func missing(line string) error { return fmt.Errorf("%w: %s", ErrNotInstalled, line) }

// python takes the first interpreter that has the modules: Debian's packages are its own's.
func python(a Adapter) ([]string, error) {
	test := "import " + strings.Join(words(a.needs), ", ")
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", test).Run() == nil { //nolint:noctx // it only imports
			dir, err := unpacked("python", nil)
			return slices.Concat([]string{name, filepath.Join(dir, a.run[0])}, a.run[1:]), err
		}
	}
	var packages []string
	for _, module := range words(a.needs) {
		packages = append(packages, "python3-"+module)
	}
	return nil, missing("apt-get install python3 " + strings.Join(packages, " "))
}

func php(a Adapter) ([]string, error) {
	if _, err := os.Stat(a.needs); err != nil || exec.Command("php", "-r", "exit(extension_loaded('redis') && extension_loaded('pdo_pgsql') ? 0 : 1);").Run() != nil { //nolint:noctx // it only looks
		return nil, missing("apt-get install php-cli php-symfony-lock php-redis php-pgsql")
	}
	dir, err := unpacked("php", nil)
	return slices.Concat([]string{"php", filepath.Join(dir, a.run[0])}, a.run[1:]), err
}

func java(a Adapter) ([]string, error) {
	var jars []string
	for _, name := range words(a.needs) {
		jar := "/usr/share/java/" + name + ".jar"
		if _, err := os.Stat(jar); err != nil {
			return nil, missing("apt-get install default-jdk-headless libcurator-recipes-java libjackson2-databind-java")
		}
		jars = append(jars, jar)
	}
	path := strings.Join(jars, ":")
	dir, err := unpacked("java", func(dir string) error {
		sources, _ := filepath.Glob(filepath.Join(dir, "*.java")) // the pattern is right
		out, err := exec.Command("javac", slices.Concat([]string{"-cp", path, "-d", dir}, sources)...).CombinedOutput() //nolint:noctx // it takes seconds
		if err != nil {
			return fmt.Errorf("compile the adapters in Java: %w: %s", err, out)
		}
		return nil
	})
	return slices.Concat([]string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path + ":" + dir}, a.run), err
}

// golang finds a program that was built before: its module is not this one's.
func golang(a Adapter) ([]string, error) {
	own, _ := os.Executable()
	home, _ := os.UserHomeDir()
	for _, name := range []string{a.run[0], filepath.Join(filepath.Dir(own), a.run[0]), filepath.Join(home, "go/bin", a.run[0])} {
		if path, err := exec.LookPath(name); err == nil {
			return slices.Concat([]string{path}, a.run[1:]), nil
		}
	}
	return nil, missing("go -C locks/adapters/go install ./...")
}

// unpacked is the directory with the sources of a language, made once for each version of them.
func unpacked(language string, build func(dir string) error) (string, error) {
	names, _ := fs.Glob(files, language+"/*") // the pattern is right
	hash := sha256.New()
	texts := map[string][]byte{}
	for _, name := range names {
		texts[name], _ = files.ReadFile(name) // it is there
		hash.Write(texts[name])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "locklab", fmt.Sprintf("%s-%.8x", language, hash.Sum(nil)))
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
		if err := os.WriteFile(filepath.Join(part, filepath.Base(name)), text, 0o644); err != nil {
			return "", err
		}
	}
	if build != nil {
		if err := build(part); err != nil {
			return "", err
		}
	}
	if err := os.Rename(part, dir); err != nil {
		if _, made := os.Stat(dir); made != nil { // by no other lab meanwhile
			return "", err
		}
	}
	return dir, nil
}
