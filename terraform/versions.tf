terraform {
  required_version = ">= 1.9.0, < 2.0.0" # validations may look at other variables since 1.9

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.7"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = merge(var.tags, { Lab = var.name })
  }
}

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}
