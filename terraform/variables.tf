variable "name" {
  description = "Name of this lab: prefix of what it creates, and value of the tag Lab. Two labs in one account need two names."
  type        = string
  default     = "locklab"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "name: want 2 to 20 lower-case letters, digits and dashes, such as locklab."
  }

  validation {
    condition     = !can(regex("^(ssm|aws|amazon|amzn|sg-|xn--|sthree-)", var.name))
    error_message = "name: AWS keeps names that begin with ssm, aws, amazon, amzn, sg-, xn-- or sthree- to itself: want another, such as locklab."
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
    condition     = alltrue([for role in keys(var.host_counts) : contains(concat(local.lab_roles, var.servers), role)])
    error_message = "host_counts: want the roles ${join(", ", concat(local.lab_roles, var.servers))}: the lab's own, and those in servers."
  }

  validation {
    condition = alltrue(flatten([for role, zones in var.host_counts : [
      for zone, count in zones : contains(local.zones, zone) && count >= 0 && count <= 20 && floor(count) == count
    ]]))
    error_message = "host_counts: want zones of the topology, each with a whole number from 0 to 20."
  }

  validation {
    condition     = alltrue([for role in ["master", "worker"] : !contains(keys(var.host_counts), role) || sum(concat([0], values(try(var.host_counts[role], {})))) > 0])
    error_message = "host_counts: want at least one master and one worker."
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

variable "packages" {
  description = "Other packages of Amazon Linux 2023 than a role asks for, such as { redis = [\"valkey\"] }."
  type        = map(list(string))
  default     = {}

  validation {
    condition     = alltrue([for role, packages in var.packages : contains(var.servers, role) && alltrue([for name in packages : can(regex("^[A-Za-z0-9][A-Za-z0-9._+-]*$", name))])])
    error_message = "packages: want names of packages for roles in servers, such as { redis = [\"valkey\"] }."
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
  default     = "c7g.medium"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*[.][a-z0-9-]+$", var.instance_type))
    error_message = "instance_type: want a type such as c7g.medium."
  }
}

variable "instance_types" {
  description = "Other types for single roles, such as { raft = \"c7g.large\" }."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for role in keys(var.instance_types) : contains(concat(local.lab_roles, var.servers), role)])
    error_message = "instance_types: want the roles ${join(", ", concat(local.lab_roles, var.servers))}: the lab's own, and those in servers."
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
  description = "Hours from the apply, or from make extend, after which every instance ends itself, whether or not anybody is there. What still stands a quarter of an hour later is ended from outside, and the interface endpoints go too."
  type        = number
  default     = 4

  validation {
    condition     = var.max_hours >= 1 && var.max_hours <= 72 && floor(var.max_hours) == var.max_hours
    error_message = "max_hours: want a whole number from 1 to 72."
  }
}

variable "check_quota" {
  description = "Compare the vCPUs with the account's quota before anything is made. It takes the permissions servicequotas:GetServiceQuota and GetAWSDefaultServiceQuota."
  type        = bool
  default     = true
}

variable "token" {
  description = "What controller and agents share. make sends a random one each time; only the first is used, or the one that comes with a new token_version."
  type        = string
  ephemeral   = true
  sensitive   = true

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{32,128}$", var.token))
    error_message = "token: want 32 to 128 letters, digits, dashes and underscores. make apply makes one; without make, set TF_VAR_token, such as to $(openssl rand -hex 24)."
  }
}

variable "token_version" {
  description = "Another number has the token written anew. Instances read it when they boot."
  type        = number
  default     = 1

  validation {
    condition     = var.token_version >= 1 && floor(var.token_version) == var.token_version
    error_message = "token_version: want a whole number from 1 on."
  }
}

variable "commit" {
  description = "The commit that the binary was built from, for the reports. make finds it out."
  type        = string
  default     = "unknown"

  validation {
    condition     = can(regex("^[0-9a-z]{7,64}([+]dirty)?$", var.commit))
    error_message = "commit: want a commit's hash, with +dirty behind it if the tree has changes."
  }
}

variable "vpc_cidr" {
  description = "Addresses of the lab's own network, a /16."
  type        = string
  default     = "10.75.0.0/16"

  validation {
    condition     = endswith(var.vpc_cidr, "/16") && try(cidrsubnet(var.vpc_cidr, 0, 0) == var.vpc_cidr, false)
    error_message = "vpc_cidr: want a /16 on its boundary, such as 10.75.0.0/16${try(", or here ${cidrsubnet(replace(var.vpc_cidr, "/[/].*/", "/16"), 0, 0)}", "")}."
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
