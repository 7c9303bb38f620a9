variable "name" {
  description = "Name of this lab: prefix of what it creates, and value of the tag Lab. Two labs in one account need two names."
  type        = string
  default     = "locklab"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "name: want 2 to 20 lower-case letters, digits and dashes, such as locklab."
  }
}

variable "region" {
  description = "AWS region. Its zones are named by a letter behind it: the topologies use a and c, or a, b and c."
  type        = string
  default     = "ap-northeast-2"

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region: want a region such as ap-northeast-2."
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

variable "host_counts" {
  description = "Other numbers of hosts than the topology's, by role and zone, such as { worker = { a = 1, c = 1 } }. A role with no host at all cannot be compared."
  type        = map(map(number))
  default     = {}

  validation {
    condition     = alltrue([for role in keys(var.host_counts) : contains(["master", "worker", "redis", "raft"], role)])
    error_message = "host_counts: want the roles master, worker, redis and raft."
  }

  validation {
    condition = alltrue(flatten([for role, zones in var.host_counts : [
      for zone, count in zones : contains(var.topology == "seoul-3az" ? ["a", "b", "c"] : ["a", "c"], zone) && count >= 0 && count <= 20 && floor(count) == count
    ]]))
    error_message = "host_counts: want zones of the topology, each with a whole number from 0 to 20."
  }

  validation {
    condition     = alltrue([for role in ["master", "worker"] : !contains(keys(var.host_counts), role) || sum(concat([0], values(try(var.host_counts[role], {})))) > 0])
    error_message = "host_counts: want at least one master and one worker."
  }
}

variable "architecture" {
  description = "Processor of all instances: arm64 (Graviton) or x86_64. The instance types must have it, and make build ARCH=... must have built for it."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture: want arm64 or x86_64."
  }
}

variable "instance_type" {
  description = "Type of the hosts' instances."
  type        = string
  default     = "t4g.small"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*[.][a-z0-9-]+$", var.instance_type))
    error_message = "instance_type: want a type such as t4g.small."
  }
}

variable "instance_types" {
  description = "Other types for single roles, such as { raft = \"c7g.medium\" }."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for role in keys(var.instance_types) : contains(["master", "worker", "redis", "raft"], role)])
    error_message = "instance_types: want the roles master, worker, redis and raft."
  }
}

variable "driver_instance_type" {
  description = "Type of the driver's instance. It makes the load: too small a one makes runs inconclusive."
  type        = string
  default     = "c7g.large"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*[.][a-z0-9-]+$", var.driver_instance_type))
    error_message = "driver_instance_type: want a type such as c7g.large."
  }
}

variable "spot" {
  description = "Run the hosts on Spot capacity. The driver stays on demand. An instance that AWS takes back is gone, and the run says so."
  type        = bool
  default     = false
}

variable "volume_gib" {
  description = "Size of each encrypted root volume in GiB."
  type        = number
  default     = 10

  validation {
    condition     = var.volume_gib >= 8 && var.volume_gib <= 500 && floor(var.volume_gib) == var.volume_gib
    error_message = "volume_gib: want a whole number from 8 to 500."
  }
}

variable "max_hours" {
  description = "Hours after which every instance ends itself, whether or not anybody is there. What still stands a quarter of an hour later is ended from outside, and the interface endpoints go too."
  type        = number
  default     = 4

  validation {
    condition     = var.max_hours >= 1 && var.max_hours <= 72 && floor(var.max_hours) == var.max_hours
    error_message = "max_hours: want a whole number from 1 to 72."
  }
}

variable "redis_package" {
  description = "Package of Amazon Linux that has the server of the Redis hosts: redis6 or valkey."
  type        = string
  default     = "redis6"

  validation {
    condition     = contains(["redis6", "valkey"], var.redis_package)
    error_message = "redis_package: want redis6 or valkey."
  }
}

variable "vpc_cidr" {
  description = "Addresses of the lab's own network, a /16."
  type        = string
  default     = "10.75.0.0/16"

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 1)) && endswith(var.vpc_cidr, "/16")
    error_message = "vpc_cidr: want a /16 such as 10.75.0.0/16."
  }
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

variable "fis_minutes" {
  description = "How long a fault of the Fault Injection Service lasts, in minutes; one is the least that AWS takes."
  type        = number
  default     = 1

  validation {
    condition     = var.fis_minutes >= 1 && var.fis_minutes <= 60 && floor(var.fis_minutes) == var.fis_minutes
    error_message = "fis_minutes: want a whole number from 1 to 60."
  }
}

variable "tags" {
  description = "More tags for everything."
  type        = map(string)
  default     = {}
}
