variable "name" {
  description = "Name of this lab: prefix of what it creates, and value of the tag Lab. Two labs in one account need two names."
  type        = string
  default     = "locklab"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name)) && !can(regex("^(ssm|aws|amazon|amzn|sg-|xn--|sthree-)", var.name))
    error_message = "name: want 2 to 20 lower-case letters, digits and dashes, such as locklab. AWS keeps names to itself that begin with ssm, aws, amazon, amzn, sg-, xn-- or sthree-."
  }
}

variable "region" {
  description = "AWS region. Its zones are named by a letter behind it: the topologies use a and c, or a, b and c."
  type        = string
  default     = "ap-northeast-2"

  validation {
    condition     = can(regex("^[a-z]{2}-[a-z]+-[0-9]$", var.region)) && !startswith(var.region, "cn-")
    error_message = "region: want a region of the partition aws such as ap-northeast-2."
  }
}

variable "topology" {
  description = "Which of locklab's topologies to build: seoul-2az (two zones) or seoul-3az (a third one)."
  type        = string
  default     = "seoul-2az"

  validation {
    condition     = contains(["seoul-2az", "seoul-3az"], var.topology)
    error_message = "topology: want seoul-2az or seoul-3az."
  }
}

variable "size" {
  description = "full: a host for each node of the topology. small: one host a zone, which carries the zone's nodes: at most 5 vCPUs with the default types, the quota of a new account."
  type        = string
  default     = "full"

  validation {
    condition     = contains(["full", "small"], var.size)
    error_message = "size: want full or small."
  }
}

variable "host_counts" {
  description = "Other numbers of nodes than the topology's, by role and zone, such as { worker = { a = 1, c = 1 } }. Locks whose role has none cannot be compared."
  type        = map(map(number))
  default     = {}

  validation {
    condition = alltrue(flatten([for role, zones in var.host_counts : [
      for zone, count in zones : contains(local.roles, role) && contains(local.zones, zone) && count >= 0 && count <= 20 && floor(count) == count
    ]]))
    error_message = "host_counts: want zones of the topology, each with a whole number from 0 to 20, of the roles ${join(", ", local.roles)}: the lab's own, and those in servers."
  }

  validation {
    condition = alltrue([for role in local.lab_roles : 0 < sum(concat([0], [
      for zone in local.zones : try(var.host_counts[role][zone], length([for host in local.builtin.hosts : 1 if host.zone == zone && contains(host.nodes[*].role, role)]))
    ]))])
    error_message = "host_counts: want at least one master and one worker, in whichever zone."
  }
}

variable "servers" {
  description = "The lock servers to make hosts for, by role: those of the locks that are to be compared. Locks between the masters alone need none."
  type        = list(string)
  default     = ["redis", "raft"]

  validation {
    condition     = alltrue([for role in var.servers : contains(local.all_servers, role)])
    error_message = "servers: want roles of the topology's lock servers: ${join(", ", local.all_servers)}."
  }

  validation {
    condition     = alltrue([for role in var.servers : !contains(keys(local.unavailable), role)])
    error_message = "servers: not on AWS: ${join("; ", [for role in var.servers : "${role} (${local.unavailable[role]})" if contains(keys(local.unavailable), role)])}. Leave it out: its locks are unavailable there."
  }
}

variable "architecture" {
  description = "Processor of all instances: arm64 (Graviton) or x86_64. make's ARCH sets it and builds for it; the instance types must have it."
  type        = string
  default     = "arm64"
}

variable "instance_type" {
  description = "Type of the hosts' instances."
  type        = string
  default     = "c7g.medium"
}

variable "driver_instance_type" {
  description = "Type of the driver's instance. It makes the load: too small a one makes runs inconclusive."
  type        = string
  default     = "c7g.large"
}

variable "spot" {
  description = "Run the hosts on Spot capacity; untried. The driver stays on demand. An instance that AWS takes back is gone, and the run says so."
  type        = bool
  default     = false
}

variable "max_hours" {
  description = "Hours from the apply, or from make extend, after which every instance ends itself, watched or not. What still stands a quarter of an hour later is ended from outside, and the interface endpoints go too."
  type        = number
  default     = 4

  validation {
    condition     = var.max_hours >= 1 && var.max_hours <= 72 && floor(var.max_hours) == var.max_hours
    error_message = "max_hours: want a whole number from 1 to 72."
  }
}

variable "check_quota" {
  description = "Compare the vCPUs with the account's quota before anything is made."
  type        = bool
  default     = true
}

variable "token" {
  description = "What controller and agents share. make sends a random one each time; only the first is used, or that of make apply REPLACE=aws_ssm_parameter.token."
  type        = string
  ephemeral   = true
  sensitive   = true

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{32,128}$", var.token))
    error_message = "token: want 32 to 128 letters, digits, dashes and underscores. make apply makes one; without make, set TF_VAR_token, such as to $(openssl rand -hex 24)."
  }
}

variable "commit" {
  description = "The commit that the binary was built from, for the reports. make finds it out."
  type        = string
  default     = "unknown"
}

variable "fis_enabled" {
  description = "Create experiment templates of the AWS Fault Injection Service that cut a zone off or stop its instances."
  type        = bool
  default     = false

  validation {
    condition     = !(var.fis_enabled && var.spot)
    error_message = "fis_enabled: an experiment stops and starts instances, which Spot instances cannot do: want spot = false."
  }
}

variable "tags" {
  description = "More tags for everything."
  type        = map(string)
  default     = {}
}
