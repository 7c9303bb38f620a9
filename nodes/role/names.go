package role

// The names of the roles that topologies may use. An agent runs those of them
// that it was given.
const (
	Master    = "master"
	Worker    = "worker"
	Raft      = "raft"
	Redis     = "redis"
	Postgres  = "postgres"
	Zookeeper = "zookeeper"
	Etcd      = "etcd"
)

// Names lists the known roles.
func Names() []string {
	return []string{Master, Worker, Raft, Redis, Postgres, Zookeeper, Etcd}
}
