# The topologies as nodes/topology/builtin has them. terraform_test.go compares.
locals {
  topologies = {
    seoul-2az = {
      summary = "Two Seoul zones, each with a master and three workers; Redis 3 and 2, Raft 2 and 1."
      zones   = ["a", "c"]
      hosts = {
        master = { a = 1, c = 1 }
        worker = { a = 3, c = 3 }
        redis  = { a = 3, c = 2 }
        raft   = { a = 2, c = 1 }
      }
    }
    seoul-3az = {
      summary = "Three Seoul zones, each with a master, a worker and a Raft node; Redis 2, 2 and 1."
      zones   = ["a", "b", "c"]
      hosts = {
        master = { a = 1, b = 1, c = 1 }
        worker = { a = 1, b = 1, c = 1 }
        redis  = { a = 2, b = 2, c = 1 }
        raft   = { a = 1, b = 1, c = 1 }
      }
    }
  }

  topology   = local.topologies[var.topology]
  zones      = local.topology.zones
  zone_names = { for zone in local.zones : zone => "${var.region}${zone}" }

  host_counts = { for role in ["master", "worker", "redis", "raft"] : role => {
    for zone in local.zones : zone => try(var.host_counts[role][zone], local.topology.hosts[role][zone])
  } }

  # In the order of the built-in file, which is the order that nodes are told in.
  host_list = flatten([for role in ["master", "worker", "redis", "raft"] : [
    for zone in local.zones : [
      for i in range(local.host_counts[role][zone]) : {
        name = local.host_counts[role][zone] == 1 ? "${role}-${zone}" : "${role}-${zone}-${i + 1}"
        role = role
        zone = zone
      }
    ]
  ]])

  hosts = { for host in local.host_list : host.name => host }

  # Where things listen on a host. Nodes get ports below the ephemeral ones, which
  # files/sysctl.conf moves up so that one range remains.
  agent_port = 7500
  echo_port  = 7501
  node_ports = { low = 10000, high = 32767 }

  # What the controller works with: the hosts that were made, at their addresses.
  # Real zones have latency of their own, so the links add none.
  topology_file = templatefile("${path.module}/templates/topology.yaml.tftpl", {
    name    = var.topology
    summary = local.topology.summary
    zones   = [for zone in local.zones : { name = local.zone_names[zone], short = zone }]
    hosts = [for host in local.host_list : merge(host, {
      agent = "http://${aws_instance.host[host.name].private_ip}:${local.agent_port}"
    })]
  })
}
